// Compares the replays of a launch. They show whether the launch fails as it did in the program, whether two replays
// leave the same memory, and which memory the launch needs in order to fail.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/saved_launch.h"
#include "session/saved_results.h"

namespace cudadiag::replay {

// The report of a child process on the launch that it repeats. The child writes a line after each step, so that its
// parent can tell how far the child got if it crashed.
struct Answer {
  std::string cannot;                            // why a step failed; empty if none did
  std::string gpu;                               // PCI bus id of the GPU; empty if unknown
  bool launching = false;                        // all steps before the launch are done
  std::optional<std::uint32_t> refused;          // the error that the launch call returned, if any
  std::optional<std::uint32_t> result;           // the error that waiting for the launch returned
  std::uint64_t placed = 0, placeable = 0;       // blocks at their old addresses, and blocks in all
  std::uint64_t rewritten = 0;                   // how many pointers in memory were rewritten
  bool only_reached = false;                     // memory that nothing points to was omitted for lack of room
  bool outputs = false;                          // the outputs have been written
  std::map<std::uint64_t, std::uint64_t> moved;  // new addresses by block index
};

Answer read_answer(std::string_view text);

enum class Outcome {
  as_it_did,  // the same error and, if both are known, the same instruction
  otherwise,  // a different error, or a different instruction
  did_not_fail,
  hung,        // still running at the time limit, when cudadiag killed it
  crashed,     // the process ended during the launch without reporting an error
  impossible,  // the launch was never issued, see Run::why
};
std::string_view word(Outcome outcome);

// The failure in a replay's GPU core dump.
struct Dumped {
  Instruction instruction{};
  std::uint32_t exception = 0;  // the hardware's exception code; 0 for a trap instruction
};

// One replay.
struct Run {
  Outcome outcome = Outcome::impossible;
  std::uint32_t code = 0;  // 0 if none
  std::string why{};
  std::optional<Dumped> dumped{};
  Answer answer{};
};

// `cut_short`: cudadiag killed the replay at its time limit. `dumped`: the failure in the replay's core dump. After
// writing a dump, the driver terminates the process, so the answer has no result.
Run judge(const SavedLaunch& launch, const Answer& answer, bool cut_short, std::optional<Dumped> dumped = {});

// Returns true if the launch failed an assertion, and the replay reported the trap error that the driver sometimes
// returns instead. Only the instruction in the replay's dump then shows whether the failures are the same.
bool may_be_same_assertion(const SavedLaunch& launch, const Run& run);

// Compares the replay's dump with `first`, the dump of an earlier replay that failed as the launch did. If the
// exception or the instruction differs, changes the outcome `as_it_did`.
Run judged_by(const Dumped& first, Run run);

// Returns a new tally. It counts no replays yet, but contains how much of the launch's memory was not saved.
session::ReplayTally tally_for(const SavedLaunch& launch);
void add(session::ReplayTally& tally, const Run& run);

struct FirstDifference {
  std::size_t block = 0;     // index in the launch
  std::uint64_t offset = 0;  // offset in the block
  std::uint8_t here = 0, there = 0;
};

struct Comparison {
  std::uint64_t compared = 0, different = 0;  // bytes
  std::optional<FirstDifference> first;
};

// Compares the output folders of two replays (PlayOrder::outputs), byte by byte. Returns nullopt if a file is missing
// or too short.
std::optional<Comparison> compare_outputs(const SavedLaunch& launch, const std::filesystem::path& here,
                                          const std::filesystem::path& there);

struct Smallest {
  std::vector<std::uint32_t> needed;  // indices of blocks, ascending
  unsigned replays = 0;
  bool whole = true;  // no further block can be dropped; false if the search was cut short
};

// Finds a minimal set of blocks whose contents the launch needs. `fails(without)` returns true if the launch still
// fails in the same way when the blocks in `without` contain only zeros, and nullopt if the search must end. `most`
// limits the number of replays.
Smallest smallest_set(const std::vector<std::uint32_t>& blocks,
                      const std::function<std::optional<bool>(const std::vector<std::uint32_t>& without)>& fails,
                      unsigned most);

}  // namespace cudadiag::replay
