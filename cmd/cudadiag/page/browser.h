// The user's browser.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace cudadiag::command {

// Starts $BROWSER, else the desktop's or Windows' own program, and does not wait for it. Nothing: one was started.
std::optional<base::Error> open_in_browser(const std::string& file);

}  // namespace cudadiag::command
