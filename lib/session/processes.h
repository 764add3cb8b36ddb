// Finds a session's processes by their ids, the rerun that a process belongs to, and whether a process still lives.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "session/process_record.h"
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

// Finds out whether a recorded process is still alive, for a session without a launcher.

// Returns whether the process is alive. `session` is the folder that contains the process's area. A process maps its
// area for as long as it records. A different process with the same pid does not map that area.
std::optional<bool> lives(const std::filesystem::path& session, const ProcessRecord& record);

// Processes that were forked after their parent had used CUDA, as noted by their recorders. All driver calls of these
// processes fail.
struct ForkOrigin {
  const Process* parent = nullptr;
  std::uint32_t site = 0;  // where the parent forked; 0 if unknown
};

bool is_fork(const ProcessRecord& record);
std::optional<std::uint32_t> latest_fork(const ProcessRecord& record);
std::optional<ForkOrigin> fork_origin(const Session& session, const Process& process);

}  // namespace cudadiag::session
