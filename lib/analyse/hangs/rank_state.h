// The state of one rank of a job, as NCCL's communicators have it: small enough that a thousand of them are held at
// once. It refers to nothing of the process that it was made of.
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
  // A call, and the place in the program that made it.
  struct Call : session::Collective {
    wire::site_key::Key line = 0;  // of the innermost frame of the program's own; 0: not known
    double made = 0;               // seconds since the epoch
  };

  // In Call::flags, beside those of the wire: it was called, but earlier work of its stream has not finished.
  static constexpr std::uint8_t kQueued = 0x80;

  std::optional<int> rank;  // in the job
  std::uint32_t pid = 0;
  std::vector<session::Communicator> communicators;
  std::vector<Call> calls;  // the latest, by number
  // For each of its streams whose work may not have finished: the calls in it, as indices in `calls`, oldest first.
  // Also a call whose kernel was never launched.
  std::vector<std::vector<std::size_t>> unfinished;
  bool is_whole = true;  // no communicator and no message is missing
  double waited = 0;     // seconds since the thread of its latest call issued anything
};

// NCCL's kernels, those of sends and receives included.
bool is_nccl_kernel(std::string_view kernel);
bool launches_nccl(const session::ProcessRecord& record, const session::Operation& operation);

inline constexpr std::size_t kAllCalls = static_cast<std::size_t>(-1);

// Nothing: NCCL did not tell of any communicator. `most`: calls that are kept.
std::optional<RankState> rank_state(const session::Process& process, std::size_t most);

}  // namespace cudadiag::analyse
