// Decides whether a rerun's failure proves a failure of the first run.
#pragma once

#include <string>

#include "analyse/analysis.h"

namespace cudadiag::analyse {

// If the user edited the code that issued a candidate before the rerun, returns the edited file; otherwise "".
std::string rewritten_of(const Failure& failure, const session::Pass& pass);

// If `again` shows that `failure` recurred in the rerun `pass`, updates `failure` and returns true.
bool confirm(Failure& failure, const Failure& again, const session::Pass& pass);

// Lowers the grade if only one candidate remained, but a rerun failed at different code. Either the program behaves
// differently from run to run, or fewer operations of the first run had finished than its recording suggests.
void doubt(Failure& failure, const Failure& again);

}  // namespace cudadiag::analyse
