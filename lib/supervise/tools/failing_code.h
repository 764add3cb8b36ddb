// Stores disassembled code, from which a report computes the address that failed in a GPU core dump. Reports themselves
// run no tools.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launch/process.h"
#include "session/session_writer.h"

namespace cudadiag::supervise {

// Stores the disassembled code of the failing kernel next to `dump`, a dump in the current pass of `writer`. Stores
// nothing if the dump is missing or lacks this code, or if `command` has no nvdisasm. Returns the reason if storing
// fails.
std::optional<base::Error> store_failing_code(const std::string& dump, session::SessionWriter& writer,
                                              const std::vector<std::string>& command, launch::SignalRelay& relay);

}  // namespace cudadiag::supervise
