// Adds findings for races between tensors, one for each pair of lines. The races come from a run that followed
// PyTorch's operators.
#pragma once

#include "diagnose/facts/model.h"
#include "session/session.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

void add_tensor_races(Diagnosis& report, const session::Session& session, const symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::diagnose
