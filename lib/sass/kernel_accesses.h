// How a kernel's code uses the memory that its parameters point to.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "sass/mode.h"

namespace cudadiag::sass {

// The source of an address in a kernel's code: the offset of a parameter word, or of an indexed array of words.
// `chosen`: all threads may use the same index, so perhaps only one element is used. `shifted`: every thread adds
// something to the word that is likely not 0.
struct Origin {
  std::uint32_t offset = 0;
  bool indexed = false, chosen = false, shifted = false;
  auto operator<=>(const Origin&) const = default;
};

// One way in which the code touches global memory.
struct CodeAccess {
  Mode mode = Mode::read;
  std::vector<Origin> origins;  // sources that contribute to the address
  bool anywhere = false;        // the address may come from any parameter
  auto operator<=>(const CodeAccess&) const = default;
};

// A parameter word of one launch that may be a memory address. Words that are not listed are not addresses.
struct LiveWord {
  std::uint32_t offset = 0;
  std::uint32_t same = 0;  // offset of the first word with the same address
  auto operator<=>(const LiveWord&) const = default;
};
using LiveWords = std::vector<LiveWord>;  // sorted by offset; empty if nothing is known about the launch

// A bit for each of the first 32 words (4 bytes each) of a launch's parameters. It is set if the word is 0, even as
// part of an 8-byte number.
using ZeroWords = std::uint32_t;

struct LaunchWords {
  LiveWords live;
  ZeroWords zeros = 0;
  auto operator<=>(const LaunchWords&) const = default;
};

struct KernelAccesses {
  bool known = false;  // false if the code could not be followed
  std::set<CodeAccess> accesses;
  std::vector<std::uint32_t> parameters;  // sorted offsets where the parameters begin; empty if unknown
  bool writes_elsewhere = false;          // through an address that is in no parameter, such as one read from memory

  // Returns how the code uses the memory that the word at `parameter` points to. The mode is unknown if code may write
  // through an address that may also come from another word, or from another element of an array. If several words have
  // the same address, only one counts. Words that are not addresses do not count.
  Mode mode(std::uint32_t parameter, const LiveWords& live = {}) const;
};

}  // namespace cudadiag::sass
