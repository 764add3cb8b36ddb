// Keeps what a report needs to find the failing address of a GPU core dump, because a report runs no tools.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launch/process.h"
#include "session/session_writer.h"

namespace cudadiag::supervise {

// The text of the failing kernel's code, beside the dump `dump` in the pass that `writer` is at; nothing if there is no
// dump, no such code, or no nvdisasm for `command`. Returns why it could not be stored.
std::optional<base::Error> store_failing_code(const std::string& dump, session::SessionWriter& writer,
                                              const std::vector<std::string>& command, launch::SignalRelay& relay);

}  // namespace cudadiag::supervise
