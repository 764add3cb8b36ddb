// Opens a GPU core dump on disk. Maps it into memory, after unpacking it if it is compressed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>

#include "evidence/core_facts.h"

namespace cudadiag::evidence {

struct Unreadable {
  std::string what;  // one sentence, which begins with the file's path
  std::string hint;  // what the user can do; may be empty
};

// Larger dumps are rejected, because a compressed dump is unpacked into memory.
inline constexpr std::uint64_t kLargestUnpacked = std::uint64_t{1} << 30;

// Returns whether the file begins like a gzip archive, in which the driver may write a dump.
bool is_gzip(int file);

std::variant<CoreFacts, Unreadable> read_core(const std::filesystem::path& path,
                                              std::uint64_t largest_unpacked = kLargestUnpacked);

}  // namespace cudadiag::evidence
