// The state of one rank of a job, according to NCCL's communicators. It holds no reference to its process, and is small
// enough that a thousand of them fit in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "session/session.h"
#include "wire/rerun/site_key.h"

namespace cudadiag::analyse {

struct RankState {
  // A call, and the place where the program made it.
  struct Call : session::Collective {
    wire::site_key::Key line = 0;  // of the program's innermost own frame; 0 if unknown
    double made = 0;               // seconds since the epoch
  };

  // A flag in Call::flags, in addition to those of the wire format: earlier work on the call's stream is unfinished.
  static constexpr std::uint8_t kQueued = 0x80;
  // A flag in Call::flags: the size applies only to this rank, and may differ between ranks.
  static constexpr std::uint8_t kOwnSize = 0x40;

  std::optional<int> rank;  // in the job
  std::uint32_t pid = 0;
  std::vector<session::Communicator> communicators;
  std::vector<Call> calls;  // the latest ones, sorted by number
  // For each stream, the calls whose work may be unfinished, as indices into `calls`, oldest first. Includes calls
  // whose kernel was never launched.
  std::vector<std::vector<std::size_t>> unfinished;
  bool is_whole = true;  // no communicator and no message is missing
  double waited = 0;     // seconds since the thread that made the latest call last issued an operation
  // The state comes from a PyTorch Flight Recorder dump, not from a recording. In that case, Collective::site is 1 +
  // the index in `stacks`, and Collective::of_function is 0.
  bool is_dumped = false;
  std::vector<std::vector<session::DeliveredFrame>> stacks;
};

// Returns whether this is an NCCL kernel, including those for sends and receives.
bool is_nccl_kernel(std::string_view kernel);
bool launches_nccl(const session::ProcessRecord& record, const session::Operation& operation);

inline constexpr std::size_t kAllCalls = static_cast<std::size_t>(-1);

// Returns nullopt if NCCL reported no communicator. `most`: how many of the latest calls to keep.
std::optional<RankState> rank_state(const session::Process& process, std::size_t most);

}  // namespace cudadiag::analyse
