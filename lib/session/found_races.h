// The races between streams in one process, as stored in the session.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "session/process_record.h"

namespace cudadiag::session {

enum class RaceMode : std::uint8_t {
  unknown,
  none,  // a kernel gets the address as a parameter, but does not access it
  read,
  write,
  atomic,
};

std::string_view word(RaceMode mode);

constexpr bool alters(RaceMode mode) { return mode == RaceMode::write || mode == RaceMode::atomic; }

struct RaceAccess {
  Work what = Work::call;  // kernel, copy, memset, allocation or free
  // The program's own CPU code made the access, so the access has no stream or line. For a write by the host, `exact`
  // means that we observed the write before the other access could begin.
  bool on_host = false;
  RaceMode mode = RaceMode::unknown;
  std::uint64_t begin = 0, end = 0;
  bool exact = false;                    // false: `begin` is the address that a kernel received, `end` is `begin` + 1
  bool somewhere = false;                // not exact: it accesses an unknown part of the bytes from `begin` to `end`
  std::uint64_t array = 0;               // CUarray; `begin` and `end` count from its first byte. 0: they are addresses
  bool out_of_order = false;             // it may happen before earlier work of its stream has finished
  std::uint64_t stream = 0;              // handle of its stream
  std::uint32_t site = 0, function = 0;  // ids in the process's record
  std::uint32_t parameter = 0;           // offset of the pointer among the kernel's parameters
  std::uint32_t node = 0;                // 1 + index of the node in its graph; 0 if none
  std::uint32_t thread = 0;              // index of the thread that issued it
  std::uint64_t ticks = 0;               // when it was issued
};

struct Race {
  std::uint32_t pid = 0;
  RaceAccess first, second;    // in the order of issue
  bool possible = false;       // not certain, because the accesses may not conflict or `uncertain` is set
  bool uncertain = false;      // something that the driver does not report may order the accesses
  bool waited_before = false;  // the second stream had waited for earlier work of the first stream
  bool one_graph = false;      // both are nodes in the same graph launch
  bool several = false;        // it represents several pairs of accesses, with different parameters
  std::uint64_t times = 1;
  std::uint64_t address = 0, bytes = 0;  // address and size of the allocation; `bytes` is 0 if unknown
  std::uint32_t allocated = 0;           // site of the allocation
  // Only if the host made the second access: the number of bytes that changed, and whether only samples of the bytes
  // were compared.
  std::uint64_t changed = 0;
  bool sampled = false;
  // And the sites of two calls of one thread, with no recorded call between them: after the first one, the bytes were
  // unchanged; before the second one, they had changed. 0 if unknown.
  std::uint32_t unchanged_at = 0, changed_at = 0;
  bool others_ran = false;  // other threads of the process ran between these calls
  // Only if the first access is also a copy in a graph: the site of the graph's launch, and whether the bytes changed
  // after the graph had begun.
  std::uint32_t launched = 0;
  bool after_begin = false;
  // The bytes changed before the completion marker of the copy, or of its graph, was written. The copy may have begun.
  // Only of changed_sources().
  bool before_marker = false;
};

// Returns the copies whose sources changed, as the process recorded them without a search for races (--check-copies).
std::vector<Race> changed_sources(const ProcessRecord& record, std::uint32_t pid);

// A replay of a graph used host memory that had ended since the graph's node got its address.
struct EndedMemory {
  enum class How : std::uint8_t {
    returned,      // a variable of a function that has returned
    thread_ended,  // a variable on the stack of a thread that has ended
    freed,         // a block that has been freed
  };
  std::uint32_t pid = 0;
  RaceAccess access;  // of the node; a host function if the memory is its argument
  How how = How::freed;
  std::uint32_t launched = 0;  // site of the graph's launch
  std::uint32_t freed = 0;     // site of the CUDA call that freed the block; 0 if unknown
  // The variable's function, as the 1-based number of its frame in the native stack of the access's site, and the
  // variable's distance from the end of that frame (DWARF's CFA). 0 if unknown.
  std::uint32_t frame = 0;
  std::uint64_t below = 0;
  std::uint64_t times = 1;
};

std::string_view word(EndedMemory::How how);

// A kernel accessed bytes outside the allocation that its pointer points into, although no call failed.
struct Overrun {
  std::uint32_t pid = 0;
  RaceAccess access;
  std::uint64_t address = 0, bytes = 0;  // address and size of the allocation
  std::uint32_t allocated = 0;           // site of the allocation
  std::uint64_t times = 1;
};

// An access by one thread of a launch.
struct ThreadAccess {
  std::uint32_t instruction = 0;  // its address in the kernel's code
  RaceMode mode = RaceMode::unknown;
  std::uint64_t begin = 0, end = 0;
  std::array<std::uint32_t, 3> block{}, thread{};
  struct Line {
    std::string file, function;
    std::uint32_t line = 0;
  };
  std::vector<Line> lines;  // innermost first, from inlined functions to the kernel; empty if unknown
};

// Two threads of one launch use a common byte, and nothing orders them.
struct KernelRace {
  std::uint32_t pid = 0;
  RaceAccess launch;                     // without bytes
  ThreadAccess first, second;            // in the order of the code
  bool in_block = false;                 // both threads are in one block
  std::uint64_t address = 0, bytes = 0;  // address and size of the allocation; `bytes` is 0 if unknown
  std::uint32_t allocated = 0;           // site of the allocation
  std::uint64_t times = 1;               // number of launches with the same parameters
};

struct RaceCounts {
  std::uint32_t pid = 0;
  std::uint64_t operations = 0;  // number of operations checked
  std::uint64_t lost = 0;        // number of records that were overwritten before they were read, or were never written
  std::uint64_t gaps = 0;        // number of gaps across which nothing could be concluded
  std::uint64_t forgotten = 0;   // number of accesses that were dropped for lack of room
  std::uint64_t unlisted = 0;    // number of races that did not fit into the list
  std::uint64_t unjudged = 0;    // unordered pairs of kernels for which it is unknown whether, or where, they write
  std::uint64_t kernels = 0;     // number of kernels that were launched
  std::uint64_t unchecked = 0;   // number of those whose threads were not all checked for races with each other
};

// The number of kernels whose code was requested, and the number of those whose code was found and understood.
struct RaceKernels {
  std::uint64_t wanted = 0, understood = 0;
  bool disassembler = false;          // a disassembler was available
  std::uint64_t unknown_opcodes = 0;  // number of unknown opcodes that hide which bytes a kernel accesses
};

struct Races {
  std::vector<Race> found;
  std::vector<Race> unjudged;  // the first unjudged pairs, whose modes are unknown
  std::vector<Overrun> overruns;
  std::vector<EndedMemory> ended;
  std::vector<KernelRace> inside;  // races between threads of one launch
  std::vector<RaceCounts> counts;  // one per checked process
  RaceKernels kernels;
};

// Writes races.json, in format "cudadiag.races/1".
std::string write_races(Races races);
// Members that are missing or have the wrong type keep their default. Returns nullopt if the text is not in this
// format.
std::optional<Races> parse_races(std::string_view text);

}  // namespace cudadiag::session
