// Explains the findings: the cause if a rule knows it (causes/rule.h), and otherwise general advice.
#pragma once

#include <string>
#include <vector>

#include "analyse/analysis.h"
#include "diagnose/causes/case.h"
#include "diagnose/facts/report_model.h"
#include "session/session.h"
#include "symbolize/source_stack.h"

namespace cudadiag::diagnose {

// Finds out which APIs a process uses, so that advice names the calls of these APIs. Looks at the failed calls of the
// process and at `stack`, the stack of one of its operations.
causes::Dialect dialect_of(const session::Process& process, const symbolize::SourceStack& stack, bool torch);

// Returns advice that follows from the kind and code of the error. It says where to look, but never what is wrong.
std::vector<std::string> next_steps(const analyse::Failure& failure, const session::Manifest& manifest);

// Sets `cause` and `fix` of each finding that a rule matches; other findings keep their general next steps. `failures`
// has one entry for each finding, in the same order. The rules read the other members of the findings, including
// arguments and device, so set those first.
void add_causes(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
                const std::vector<const analyse::Failure*>& failures);

}  // namespace cudadiag::diagnose
