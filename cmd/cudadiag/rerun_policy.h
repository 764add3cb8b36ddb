// Whether a failed run may be repeated without being asked: only where that is cheap, and harmless by what can be seen.
#pragma once

#include <string>

#include "launch/changed_files.h"
#include "launch/input.h"
#include "session/session.h"

namespace cudadiag::command {

// What speaks against it, as the end of "not rerun by itself: …"; empty if nothing does. `before`: of the
// working folder.
std::string obstacle_to_rerun(const session::Session& session, const launch::Input& input,
                              const launch::FolderBefore& before, const std::string& report_file);

}  // namespace cudadiag::command
