// The bytes that launches use through their parameters, by the kernels' code; launches that differ only in the addresses
// that they are given are looked at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sass/byte_ranges.h"

namespace cudadiag::races {

// The code of a kernel; null: it is not known, or is one of several.
using CodeOf = std::function<std::shared_ptr<const sass::ByteRanges>(std::uint32_t function)>;

class LaunchBytes {
 public:
  explicit LaunchBytes(CodeOf code_of) : code_of_(std::move(code_of)) {}

  // `record`: of the launch. `addresses`: offsets of the words among its parameters that are addresses of memory.
  const std::vector<sass::ParameterBytes>& of(const std::byte* record, std::uint32_t function,
                                              std::string_view parameters, std::vector<std::uint32_t> addresses);

  static const std::vector<sass::ParameterBytes> kNone;

 private:
  struct Known {
    std::shared_ptr<const sass::ByteRanges> code;
    std::vector<sass::ParameterBytes> bytes;
  };
  static constexpr std::size_t kMostKnown = 1u << 14;
  static constexpr int kMostFailures = 3;  // launches of a kernel that nothing comes of: others are not looked at

  CodeOf code_of_;
  std::unordered_map<std::string, Known> known_;                               // by all that decides
  std::unordered_map<std::shared_ptr<const sass::ByteRanges>, int> failures_;  // in a row
};

}  // namespace cudadiag::races
