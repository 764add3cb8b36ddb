// How the code of a kernel uses the memory that the kernel's parameters point to.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "sass/mode.h"

namespace cudadiag::sass {

// The source of an address in the code: the parameter word at `offset` or, if `indexed`, an array of words there.
// `chosen`: all threads may use the same index, so perhaps only one element is used. `shifted`: every thread adds
// something to the word, probably not 0.
struct Origin {
  std::uint32_t offset = 0;
  bool indexed = false, chosen = false, shifted = false;
  auto operator<=>(const Origin&) const = default;
};

// One kind of access to global memory in the code.
struct CodeAccess {
  Mode mode = Mode::read;
  std::vector<Origin> origins;  // all sources that contribute to the address
  bool anywhere = false;        // the address may come from any parameter
  auto operator<=>(const CodeAccess&) const = default;
};

// A parameter word of a launch that may be a memory address. Words that are not listed are not addresses.
struct LiveWord {
  std::uint32_t offset = 0;
  std::uint32_t same = 0;  // offset of the first word with the same address
  auto operator<=>(const LiveWord&) const = default;
};
using LiveWords = std::vector<LiveWord>;  // sorted by offset; empty if nothing is known about the launch

// A bit for each of the first 32 words (of 4 bytes) of a launch's parameters. The bit is set if the word is 0, even if
// the word is half of a larger number.
using ZeroWords = std::uint32_t;

struct LaunchWords {
  LiveWords live;
  ZeroWords zeros = 0;
  auto operator<=>(const LaunchWords&) const = default;
};

// A use of a texture or surface whose handle is a parameter.
struct HandleUse {
  std::uint32_t parameter = 0;  // offset of the handle
  bool surface = false;
  Mode mode = Mode::read;
  auto operator<=>(const HandleUse&) const = default;
};

struct KernelAccesses {
  bool known = false;  // false if we could not follow the code
  std::set<CodeAccess> accesses;
  std::vector<std::uint32_t> parameters;  // sorted offsets where the parameters begin; empty if unknown
  bool writes_elsewhere = false;          // writes through an address that does not come from a parameter
  std::set<HandleUse> handles{};          // known uses of textures and surfaces

  // Returns how the code uses the memory to which the word at `parameter` points. Returns unknown if it is unclear
  // through which word, or through which element of an array, the code writes. If `live` is not empty, ignores words
  // that it does not list, and words that repeat an address.
  Mode mode(std::uint32_t parameter, const LiveWords& live = {}) const;
};

}  // namespace cudadiag::sass
