// Finds assertions that failed on the GPU in the output of a rerun.
//
// CUDA's assert(), PyTorch's CUDA_KERNEL_ASSERT and Triton's device_assert print a line for each thread:
//   FILE:LINE: FUNCTION: block: [x,y,z], thread: [x,y,z] Assertion `CONDITION` failed.
// PyTorch built with TORCH_USE_CUDA_DSA instead stores the first ten assertions in memory, and prints them in an
// exception. Each assertion is a block of lines " GPU assertion failure message = …", " File containing assertion =
// FILE:LINE" and so on.
//
// The output comes from the target and is not trusted, so the parser accepts only these forms and ignores truncated
// parts.
#pragma once

#include <array>
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

inline constexpr std::size_t kLongestPart = 4096;
// Further assertions are ignored.
inline constexpr std::size_t kMostAssertions = 64;

// Returns each assertion once, in order of first appearance.
std::vector<Assertion> assertions_in(std::string_view output);

// Reads only the first `kept` bytes and the last `kept` bytes. Returns an empty list if `output` is not a regular file.
inline constexpr std::uint64_t kOutputKept = std::uint64_t{4} << 20;
std::vector<Assertion> read_assertions(const std::filesystem::path& output, std::uint64_t kept = kOutputKept);

}  // namespace cudadiag::evidence
