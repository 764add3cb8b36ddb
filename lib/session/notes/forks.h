// A process that is a fork of one that had used CUDA, as its recorder says: the driver refuses all its calls.
#pragma once

#include <cstdint>
#include <optional>

#include "session/session.h"

namespace cudadiag::session {

struct ForkOrigin {
  const Process* parent = nullptr;
  std::uint32_t site = 0;  // of the parent, where it forked; 0: not known
};

bool is_fork(const ProcessRecord& record);
// The site of its own latest fork that was seen. Nothing: there was none.
std::optional<std::uint32_t> latest_fork(const ProcessRecord& record);
// Empty if it is not a fork, or if its parent is not in the session.
std::optional<ForkOrigin> fork_origin(const Session& session, const Process& process);

}  // namespace cudadiag::session
