// Collects the operations around a failure, stream by stream.
#pragma once

#include "analyse/analysis.h"
#include "diagnose/pictures.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// Returns nullopt if no operation on a stream failed, or if the operation is not recorded.
std::optional<Timeline> timeline_of(const analyse::Failure& failure, symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::diagnose
