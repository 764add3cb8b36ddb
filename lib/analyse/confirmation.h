// Decides whether a rerun's failure proves a failure of the first run, by the code that issued the operations.
#pragma once

#include <string>
#include <vector>

#include "analyse/failure.h"
#include "session/session.h"
#include "wire/site_key.h"

namespace cudadiag::analyse {

// Returns the key of the first candidate's site; 0 if there is none.
wire::site_key::Key lead_key(const Failure& failure);

// Returns whether each candidate launches a kernel that its process launches at a single place in the code. The
// kernel's name then identifies this place in a rerun that is observed in another way. Between the program and the
// driver, a statically linked runtime takes another path if CUPTI observes it, so the call sites differ.
bool are_identified_by_kernels(const Failure& failure);

// Returns whether the two failures have candidates that the same code issued.
bool shares_code(const Failure& failure, const Failure& again);

// If the user edited the code that issued a candidate before the rerun, returns the edited file; otherwise "".
std::string rewritten_of(const Failure& failure, const session::Pass& pass);

// If `again` shows that `failure` recurred in the rerun `pass`, updates `failure` and returns true.
bool confirm(Failure& failure, const Failure& again, const session::Pass& pass);

// Lowers the grade if only one candidate remained, but a rerun failed at different code. Either the program behaves
// differently from run to run, or fewer operations of the first run had finished than its recording suggests. Does
// nothing if isolation denied the rerun something, which may be why it failed elsewhere.
void doubt(Failure& failure, const Failure& again, const session::Pass& pass);

}  // namespace cudadiag::analyse
