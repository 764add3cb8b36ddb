// Finds the operations that a rerun waits for if the user chooses them, and those of a run with --arm.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "analyse/reruns/rerun_window.h"
#include "session/session.h"

namespace cudadiag::command {

// The options of cudadiag bisect that choose operations. The user can give only one of them.
struct WindowChoice {
  std::optional<std::uint64_t> launch;  // number of an operation
  std::string kernel;                   // regular expression
  std::string site;                     // FILE:LINE
};

// Returns nullopt if the user chose no operations. The analysis then chooses them.
base::Result<std::optional<analyse::RerunWindow>> chosen_window(const session::Session& session,
                                                                const WindowChoice& choice);

// Returns the window of operations to wait for in order to catch this session's failure again (wire/rerun/window.h).
base::Result<std::string> window_of_session(const std::string& session,
                                            const std::optional<std::filesystem::path>& output);

}  // namespace cudadiag::command
