// The parts of a report besides its findings: environment, passes, processes, and notes on what cudadiag could not see.
#pragma once

#include <string_view>

#include "diagnose/diagnosis.h"
#include "symbolize/device_testimony.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

void add_environment(Diagnosis& report, const session::Session& session);
void add_processes(Diagnosis& report, const session::Session& session);
// Call this after the findings are built: the outcome of a pass depends on them.
void add_passes(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
                const symbolize::DeviceTestimony& testimony);
// Adds each note once. Call this after the symbolizer has resolved all findings.
void add_notes(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
               symbolize::Symbolizer& symbolizer);

// Call this after add_notes(). If a program was ended from outside, adds work that had long been unfinished.
void add_unfinished(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
                    symbolize::Symbolizer& symbolizer);

// Adds a note that source lines are not shown, with the reason. Does nothing if the reason is empty.
void mark_foreign(Diagnosis& report, const std::string& why);

// Returns why a report with `foreign` omits source lines, and how to get them.
std::string withheld_text(const Diagnosis& report);

}  // namespace cudadiag::diagnose
