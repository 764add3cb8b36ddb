// How a kernel's code uses the memory that its parameters point to.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "sass/mode.h"

namespace cudadiag::sass {

// The source of an address in a kernel's code: the offset of a word among the parameters, or of an indexed array of
// words. `chosen`: the index may be the same for all threads, so that only one element may be used. `shifted`:
// something that is likely not 0 is added to the word, for every thread.
struct Origin {
  std::uint32_t offset = 0;
  bool indexed = false, chosen = false, shifted = false;
  auto operator<=>(const Origin&) const = default;
};

// One way in which the code touches global memory.
struct CodeAccess {
  Mode mode = Mode::read;
  std::vector<Origin> origins;  // of which its address is made
  bool anywhere = false;        // the address may come from any parameter
  auto operator<=>(const CodeAccess&) const = default;
};

// A word of one launch that may hold an address of memory; other words cannot.
struct LiveWord {
  std::uint32_t offset = 0;
  std::uint32_t same = 0;  // the first one that holds the same address
  auto operator<=>(const LiveWord&) const = default;
};
using LiveWords = std::vector<LiveWord>;  // by offset; none: nothing is known of the launch

// A bit for each of the first 32 words of 4 bytes among a launch's parameters: set if the word is 0, also as part of a
// number of 8 bytes.
using ZeroWords = std::uint32_t;

struct LaunchWords {
  LiveWords live;
  ZeroWords zeros = 0;
  auto operator<=>(const LaunchWords&) const = default;
};

struct KernelAccesses {
  bool known = false;  // false: its code could not be followed
  std::set<CodeAccess> accesses;
  std::vector<std::uint32_t> parameters;  // where each begins, sorted; none: not known

  // How the code uses the memory that the word at `parameter` points to. Unknown if code may write through an address that
  // could also be made of another word, or of another element of an array. Of several words with the same address only
  // one counts; words that hold no address of memory do not count.
  Mode mode(std::uint32_t parameter, const LiveWords& live = {}) const;
};

}  // namespace cudadiag::sass
