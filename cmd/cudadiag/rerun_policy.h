// Whether a failed run may be repeated without being asked: only where that is cheap, and harmless by what can be seen.
#pragma once

#include <cstdint>
#include <string>

#include "launch/input.h"
#include "session/session.h"

namespace cudadiag::command {

// What speaks against it, as the end of "not rerun by itself: …"; empty if nothing does. `started_at`: what
// launch::next_file_time() said before the command was started.
std::string obstacle_to_rerun(const session::Session& session, const launch::Input& input, std::int64_t started_at,
                              const std::string& report_file);

}  // namespace cudadiag::command
