// Finds the current line of a blocked process, if cudadiag has read its stacks.
#pragma once

#include <optional>

#include "diagnose/facts/model.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// Prefers the main thread. Returns nullopt if no stack was read, or the stack has no line.
std::optional<Location> host_line(const session::Session& session, const session::Process& process,
                                  symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::diagnose
