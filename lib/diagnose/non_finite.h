// Adds the findings of `cudadiag nans`. Each names the first operator whose result was not finite and was used.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "diagnose/facts/model.h"
#include "session/notes/deliveries.h"
#include "session/session.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// Returns text such as "0 / 0 is NaN: element [3,0] of a result float32[8,1], 2 elements in all".
std::string made_of(std::string_view op, const session::DeliveredNonFinite& value,
                    const std::vector<Argument>& arguments);
// Returns a clause such as "the program wrote the NaN into a parameter".
std::string use_text(session::DeliveredNonFinite::Use use);
// Returns advice; empty if we have none.
std::string remedy(std::string_view op, const session::DeliveredNonFinite& value);

std::string_view role_word(session::DeliveredNonFinite::Role role);
// Returns the use as a word for JSON, such as "parameter"; empty if the hook does not name the use.
std::string_view use_word(session::DeliveredNonFinite::Use use);

// Adds at most one finding for each process, sorted by pid.
void add_non_finite(Diagnosis& report, const session::Session& session, const symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::diagnose
