// The line of the program that a process which stands still is at, if it was read from its memory.
#pragma once

#include <optional>

#include "diagnose/diagnosis.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// The main thread's, if that has given the GPU work. None: no stack was read, or it has no line of a file.
std::optional<Location> host_line(const session::Session& session, const session::Process& process,
                                  symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::diagnose
