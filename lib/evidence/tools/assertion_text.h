// Finds the assertions that failed on the GPU in the output of a rerun.
//
// CUDA's assert(), PyTorch's CUDA_KERNEL_ASSERT and Triton's device_assert print a line for each thread:
//   FILE:LINE: FUNCTION: block: [x,y,z], thread: [x,y,z] Assertion `CONDITION` failed.
// PyTorch built with TORCH_USE_CUDA_DSA keeps the first ten in memory and prints them in its exception instead, each
// as a block of lines "  GPU assertion failure message = …", "  File containing assertion = FILE:LINE" and so on.
//
// The output is the target's: nothing in it is believed beyond these shapes, and what is cut short is left out.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cudadiag::evidence {

// One assertion of the source, with all threads that failed it.
struct Assertion {
  std::string condition;  // with whatever characters the program printed, in at most kLongestPart bytes
  std::string file;
  std::uint32_t line = 0;
  std::string function;  // as the compiler names it: "void scale(int *)", "scale", "operator()"; Triton's has no name
  std::array<std::uint32_t, 3> block{}, thread{};  // of the first that was printed
  std::uint64_t threads = 0;                       // that were printed, each once
};

inline constexpr std::size_t kLongestPart = 4096;
// Different assertions that are kept apart; further ones are left out.
inline constexpr std::size_t kMostAssertions = 64;

// In the order of their first appearance.
std::vector<Assertion> assertions_in(std::string_view output);

// Reads only the first and the last `kept` bytes. Empty if it is not a regular file.
inline constexpr std::uint64_t kOutputKept = std::uint64_t{4} << 20;
std::vector<Assertion> read_assertions(const std::filesystem::path& output, std::uint64_t kept = kOutputKept);

}  // namespace cudadiag::evidence
