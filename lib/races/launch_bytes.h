// Finds out from the kernels' code which bytes launches use through their parameters. Launches that differ only in
// their addresses are evaluated once. Several kernels may have the same name; Triton compiles one for each kind of
// argument. We do not know which one was launched, so the bytes are known only if all of these kernels use the same
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sass/byte_ranges.h"

namespace cudadiag::races {

// The code of each kernel that has a given function's name; empty if the code of one of these kernels is unknown. No
// element is null.
using Codes = std::vector<std::shared_ptr<const sass::ByteRanges>>;
using CodeOf = std::function<Codes(std::uint32_t function)>;

class LaunchBytes {
 public:
  explicit LaunchBytes(CodeOf code_of) : code_of_(std::move(code_of)) {}

  struct Memory {
    std::vector<std::uint32_t> addresses;  // offsets of the parameter words that are addresses of memory
    std::vector<sass::Image> images;       // images of the handles among the parameters
    std::vector<sass::TensorMap> tensors;  // tensors of the CUtensorMaps among the parameters
  };
  // Returns the bytes that the launch in `record` uses. The reference is valid until the next call.
  const std::vector<sass::ParameterBytes>& of(const std::byte* record, std::uint32_t function,
                                              std::string_view parameters, Memory memory);
  // Returns how the kernel uses the textures and surfaces whose handles are parameters. Returns an empty list if
  // kernels of the same name use the handles differently.
  std::vector<sass::HandleUse> handles(std::uint32_t function);

  // Returns whether a kernel with this function's name writes through pointers that it reads from memory. Also returns
  // true if the kernel's code is unknown or too complex to analyse.
  bool may_write_elsewhere(std::uint32_t function);

  // Returns whether a kernel with this function's name can wait for the host by accesses at system scope. Also returns
  // true if the kernel's code is unknown.
  bool may_wait_for_host(std::uint32_t function) const;
  // Returns whether a kernel with this function's name may write through the parameter. Also returns true if the
  // kernel's code is unknown.
  bool may_write(std::uint32_t function, std::uint32_t parameter) const;

  static const std::vector<sass::ParameterBytes> kNone;

 private:
  // Everything that the bytes depend on, apart from the code.
  struct Launch {
    std::uint32_t function;
    sass::LaunchValues values;
    bool operator==(const Launch&) const = default;
  };
  struct HashOfLaunch {
    std::size_t operator()(const Launch& launch) const;
  };
  struct Known {
    Codes codes;
    std::vector<sass::ParameterBytes> bytes;
  };
  static constexpr std::size_t kMostKnown = 1u << 14;
  static constexpr int kMostFailures = 3;  // consecutive evaluations without a result, after which the kernel's
                                           // launches are not evaluated
  static constexpr std::size_t kMostCodes = 8;

  CodeOf code_of_;
  std::unordered_map<Launch, Known, HashOfLaunch> known_;
  std::map<Codes, int> failures_;                             // consecutive failures for each set of codes
  std::unordered_map<std::uint32_t, bool> writes_elsewhere_;  // keyed by function; only functions with known code
};

}  // namespace cudadiag::races
