// Stores what a report needs to find the failing address of a GPU core dump, because a report runs no tools.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launch/process.h"
#include "session/session_writer.h"

namespace cudadiag::supervise {

// Stores the text of the failing kernel's code next to the dump `dump` in the current pass of `writer`. Stores nothing
// if there is no dump, no such code in the dump, or no nvdisasm for `command`. Returns why the text could not be
// stored.
std::optional<base::Error> store_failing_code(const std::string& dump, session::SessionWriter& writer,
                                              const std::vector<std::string>& command, launch::SignalRelay& relay);

}  // namespace cudadiag::supervise
