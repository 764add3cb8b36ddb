// Reads the text that compute-sanitizer prints.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cudadiag::evidence {

struct InvalidAccess {
  struct Nearest {
    std::uint64_t address = 0, bytes = 0;
  };

  std::string space, mode;  // "global", "write"; empty for other kinds of record, such as "Stack overflow"
  std::uint64_t bytes = 0;
  std::string headline;          // first line of the record
  std::string function, kernel;  // as printed: mangled if the tool was asked to keep names mangled
  std::uint64_t offset = 0;      // offset in `function`
  std::string file;
  std::uint32_t line = 0;
  std::array<std::uint32_t, 3> thread{}, block{};
  std::optional<std::uint64_t> address;
  std::string problem;  // "out of bounds", "misaligned"
  std::optional<Nearest> nearest;
};

struct SanitizerLog {
  std::vector<InvalidAccess> accesses;  // at most kMostAccesses
  std::optional<std::uint64_t> errors;  // how many errors the tool counted; nullopt if it did not finish
  std::string complaint;                // the tool's first error message about itself: "Error: …"
};

inline constexpr std::size_t kMostAccesses = 256;

SanitizerLog sanitizer_log(std::string_view text);

// Returns "4-byte write at 0x7f0000001010, 16 bytes past the 4,096-byte allocation at 0x7f0000000000".
std::string sentence(const InvalidAccess& access);

}  // namespace cudadiag::evidence
