// The bytes that launches use through their parameters, by the kernels' code; launches that differ only in the addresses
// that they are given are looked at once. Where several kernels have the same name (Triton compiles one for each kind of
// argument), which one was launched is not known: bytes are, if all of them use the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sass/byte_ranges.h"

namespace cudadiag::races {

// The codes of kernels that have a function's name, of which it has one; empty: not all are known. No code is null.
using Codes = std::vector<std::shared_ptr<const sass::ByteRanges>>;
using CodeOf = std::function<Codes(std::uint32_t function)>;

class LaunchBytes {
 public:
  explicit LaunchBytes(CodeOf code_of) : code_of_(std::move(code_of)) {}

  // `record`: of the launch. `addresses`: offsets of the words among its parameters that are addresses of memory.
  const std::vector<sass::ParameterBytes>& of(const std::byte* record, std::uint32_t function,
                                              std::string_view parameters, std::vector<std::uint32_t> addresses);

  static const std::vector<sass::ParameterBytes> kNone;

 private:
  struct Known {
    Codes codes;
    std::vector<sass::ParameterBytes> bytes;
  };
  static constexpr std::size_t kMostKnown = 1u << 14;
  static constexpr int kMostFailures = 3;  // launches of a kernel that nothing comes of: others are not looked at
  static constexpr std::size_t kMostCodes = 8;

  CodeOf code_of_;
  std::unordered_map<std::string, Known> known_;  // by all that decides
  std::map<Codes, int> failures_;                 // in a row
};

}  // namespace cudadiag::races
