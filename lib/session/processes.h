// A session's processes by their numbers.
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

}  // namespace cudadiag::session
