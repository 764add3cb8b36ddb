// Processes that were forked after their parent had used CUDA, as noted by their recorders. All driver calls of these
// processes fail.
#pragma once

#include <cstdint>
#include <optional>

#include "session/session.h"

namespace cudadiag::session {

struct ForkOrigin {
  const Process* parent = nullptr;
  std::uint32_t site = 0;  // where the parent forked; 0 if unknown
};

bool is_fork(const ProcessRecord& record);
// Returns the site of the process's latest recorded fork.
std::optional<std::uint32_t> latest_fork(const ProcessRecord& record);
std::optional<ForkOrigin> fork_origin(const Session& session, const Process& process);

}  // namespace cudadiag::session
