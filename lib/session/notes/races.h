// Races between streams, as one process's run showed them and the session keeps them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "session/work.h"

namespace cudadiag::session {

enum class RaceMode : std::uint8_t {
  unknown,
  none,  // a kernel is given the address and does not touch it
  read,
  write,
  atomic,
};

// "read"
std::string_view word(RaceMode mode);

constexpr bool alters(RaceMode mode) { return mode == RaceMode::write || mode == RaceMode::atomic; }

struct RaceAccess {
  Work what = Work::call;  // kernel, copy, memset, allocation or free
  // The program's own code on the CPU: no stream's and without a line; `exact`: seen to write while the other one had
  // certainly not begun.
  bool on_host = false;
  RaceMode mode = RaceMode::unknown;
  std::uint64_t begin = 0, end = 0;
  bool exact = false;                    // false: `begin` is what a kernel was given, `end` the byte after
  std::uint64_t stream = 0;              // handle
  std::uint32_t site = 0, function = 0;  // ids of the process's
  std::uint32_t parameter = 0;           // offset of the pointer among the kernel's parameters
  std::uint32_t node = 0;                // 1 + index in its graph; 0: none
  std::uint32_t thread = 0;              // index of the thread that issued it
  std::uint64_t ticks = 0;               // and when
};

struct Race {
  std::uint32_t pid = 0;
  RaceAccess first, second;    // in the order of issue
  bool possible = false;       // not certain: by what is known they need not conflict, or `uncertain`
  bool uncertain = false;      // something that the driver does not report may order them
  bool waited_before = false;  // the second one's stream had waited for the first one's, for something earlier
  bool one_graph = false;      // both are nodes of one launch of a graph
  bool several = false;        // it represents pairs with other parameters too
  std::uint64_t times = 1;
  std::uint64_t address = 0, bytes = 0;  // the allocation; bytes 0: not known
  std::uint32_t allocated = 0;           // id of a site
  // If the second one is the host's: how many bytes changed, and whether only samples were compared.
  std::uint64_t changed = 0;
  bool sampled = false;
};

// A kernel that uses bytes outside of the memory that it was pointed into, although nothing failed.
struct Overrun {
  std::uint32_t pid = 0;
  RaceAccess access;
  std::uint64_t address = 0, bytes = 0;  // the memory
  std::uint32_t allocated = 0;           // id of a site
  std::uint64_t times = 1;
};

struct RaceCounts {
  std::uint32_t pid = 0;
  std::uint64_t operations = 0;  // looked at
  std::uint64_t lost = 0;        // records that were overwritten before they were read, or never written
  std::uint64_t gaps = 0;        // number of gaps across which nothing could be concluded
  std::uint64_t forgotten = 0;   // accesses dropped for lack of room
  std::uint64_t unlisted = 0;    // races beyond those that are listed
  std::uint64_t unjudged = 0;    // unordered pairs of kernels for which it is not known whether they write, or where
};

// Kernels whose code was wanted, and was found and understood.
struct RaceKernels {
  std::uint64_t wanted = 0, understood = 0;
  bool disassembler = false;          // whether there was one
  std::uint64_t unknown_opcodes = 0;  // in code of kernels whose bytes are not known for that
};

struct Races {
  std::vector<Race> found;
  std::vector<Race> unjudged;  // the first of those pairs; neither mode is known
  std::vector<Overrun> overruns;
  std::vector<RaceCounts> counts;  // by process that was looked at
  RaceKernels kernels;
};

// races.json, in format "cudadiag.races/1".
std::string write_races(const Races& races);
// A member that is missing or of another type is left at its default; nothing for text of another kind.
std::optional<Races> parse_races(std::string_view text);

}  // namespace cudadiag::session
