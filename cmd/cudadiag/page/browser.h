// Opens a file in the user's browser.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace cudadiag::command {

// Starts $BROWSER or, if that is unset, the program that opens files on this desktop or in Windows. Does not wait until
// the browser exits. Returns nullopt on success.
std::optional<base::Error> open_in_browser(const std::string& file);

}  // namespace cudadiag::command
