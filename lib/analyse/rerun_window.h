// Chooses the operations that a rerun waits for, to decide between the candidates of the first run.
#pragma once

#include <functional>
#include <string>

#include "analyse/analysis.h"

namespace cudadiag::analyse {

// Which operations a rerun waits for. Each value includes the operations of the previous value.
enum class WindowReach {
  calls,       // each candidate's site, from the candidate's call on
  sites,       // all calls of the candidates' sites and kernels
  everything,  // every operation
};

// The text in RerunWindow::words for a window that covers every operation. Manifests store this text
// (session::Pass::waits), so it must not change.
inline constexpr const char* kEveryOperation = "every operation";

struct RerunWindow {
  std::string text;   // wire/rerun.h; empty if there is nothing to wait for
  std::string words;  // for people: "call 3 of train.py's…"
};

// Covers the asynchronous failures of `analysis`. With WindowReach::sites, also covers the failures of reruns.
// `always_hooked`: the Python hook calls all operators of the rerun, not only those that are close to a candidate.
RerunWindow rerun_window(const Analysis& analysis, WindowReach reach, bool always_hooked = false);

// Returns the window of a rerun that saves the failing launch: the candidates that launch a kernel, and a few calls
// before each. Identifies kernels by name, because the rerun may record a call site with different stacks than the
// first run.
RerunWindow launch_window(const Analysis& analysis);

// Returns a window of all operations of the sites for which `wanted` is true.
RerunWindow window_of_sites(const session::Session& session,
                            const std::function<bool(const session::Process&, const session::Site&)>& wanted);

}  // namespace cudadiag::analyse
