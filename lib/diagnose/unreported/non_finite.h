// Adds the findings of `cudadiag nans`. Each names the first operator whose result was not finite and was used.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diagnose/facts/report_model.h"
#include "session/hook_output.h"
#include "session/session.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// Returns text such as "0 / 0 is NaN: element [3,0] of a result float32[8,1], 2 elements in all".
std::string made_of(std::string_view op, const session::DeliveredNonFinite& value,
                    const std::vector<Argument>& arguments);

// Adds at most one finding for each process, sorted by pid.
void add_non_finite(Diagnosis& report, const session::Session& session, const symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::diagnose
