// Reads the text that failed assertions print.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cudadiag::evidence {

// An assertion in the source, and the threads that failed it.
struct Assertion {
  std::string condition;  // as the program printed it, with any characters; at most kLongestPart bytes
  std::string file;
  std::uint32_t line = 0;
  std::string function;  // as the compiler writes it: "void scale(int *)", "scale", "operator()"; empty for Triton
  std::array<std::uint32_t, 3> block{}, thread{};  // the first thread in the output
  std::uint64_t threads = 0;                       // number of distinct threads that printed it
};

// Further assertions are ignored.
inline constexpr std::size_t kMostAssertions = 64;

// Returns each assertion once, in order of first appearance.
std::vector<Assertion> assertions_in(std::string_view output);

// Reads only the first `kept` bytes and the last `kept` bytes. Returns an empty list if `output` is not a regular file.
inline constexpr std::uint64_t kOutputKept = std::uint64_t{4} << 20;
std::vector<Assertion> read_assertions(const std::filesystem::path& output, std::uint64_t kept = kOutputKept);

}  // namespace cudadiag::evidence
