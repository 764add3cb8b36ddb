// Finds the line where a blocked process is, if cudadiag read its stacks from its memory.
#pragma once

#include <optional>

#include "diagnose/diagnosis.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// Prefers the main thread. Returns nullopt if no stack was read, or the stack has no line.
std::optional<Location> host_line(const session::Session& session, const session::Process& process,
                                  symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::diagnose
