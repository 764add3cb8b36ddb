// Opens a file in the user's browser.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace cudadiag::command {

// Starts $BROWSER or, if that is unset, the default opener of the desktop or of Windows. Does not wait for the browser
// to exit. Returns nullopt on success.
std::optional<base::Error> open_in_browser(const std::string& file);

}  // namespace cudadiag::command
