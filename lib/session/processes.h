// Finds a session's processes by their ids, and the rerun that a process belongs to.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "session/session.h"

namespace cudadiag::session {

// Returns the first process with this id, or null. A process that replaced itself by exec appears twice.
inline const Process* process_of(const std::vector<Process>& processes, std::uint32_t pid) {
  const auto found =
      std::find_if(processes.begin(), processes.end(), [&](const Process& each) { return each.pid == pid; });
  return found == processes.end() ? nullptr : &*found;
}

// Returns the rerun in `session.reruns` that `process` belongs to, or null. The rerun is const if the session is.
template <typename AnySession>
auto rerun_of(AnySession& session, const Process* process) -> decltype(&session.manifest.passes[0]) {
  for (std::size_t i = 0; i < session.reruns.size() && i + 1 < session.manifest.passes.size(); ++i) {
    for (const Process& each : session.reruns[i]) {
      if (&each == process) return &session.manifest.passes[i + 1];
    }
  }
  return nullptr;
}

}  // namespace cudadiag::session
