// A session's processes by their numbers, and the reruns by their processes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "session/session.h"

namespace cudadiag::session {

// The first of them with this number: one that replaced itself by exec is there twice. Null: there is none.
inline const Process* process_of(const std::vector<Process>& processes, std::uint32_t pid) {
  const auto found =
      std::find_if(processes.begin(), processes.end(), [&](const Process& each) { return each.pid == pid; });
  return found == processes.end() ? nullptr : &*found;
}

// The rerun that `process` is one of `session.reruns` of, const as the session is. Null: of none.
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
