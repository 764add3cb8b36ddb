// The operations around a failure, stream by stream.
#pragma once

#include "analyse/analysis.h"
#include "diagnose/pictures/pictures.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// Nothing: the failure is not one of an operation on a stream, or its operation is not recorded.
std::optional<Timeline> timeline_of(const analyse::Failure& failure, symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::diagnose
