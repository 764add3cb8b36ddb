// The user's browser.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace cudadiag::command {

// Starts $BROWSER, or else the opener of the desktop or of Windows, without waiting for it. Returns nullopt on success.
std::optional<base::Error> open_in_browser(const std::string& file);

}  // namespace cudadiag::command
