// The contract's words for the model's enumerations: what `--json` prints and people filter by.
#pragma once

#include <string_view>

#include "analyse/analysis.h"

namespace cudadiag::report {

std::string_view word(analyse::Grade grade);
std::string_view word(analyse::Verdict verdict);
std::string_view word(analyse::Kind kind);

// What a grade claims, for readers who meet the word for the first time.
std::string_view meaning(analyse::Grade grade);

}  // namespace cudadiag::report
