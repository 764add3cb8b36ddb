// A GPU core dump on disk, mapped into memory. A compressed dump is unpacked first.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>

#include "evidence/testimony.h"

namespace cudadiag::evidence {

struct Unreadable {
  std::string what;  // one sentence
  std::string hint;  // what the user can do; may be empty
};

// The largest size of an unpacked dump, because it is unpacked into memory.
inline constexpr std::uint64_t kLargestUnpacked = std::uint64_t{1} << 30;

std::variant<Testimony, Unreadable> read_core(const std::filesystem::path& path,
                                              std::uint64_t largest_unpacked = kLargestUnpacked);

}  // namespace cudadiag::evidence
