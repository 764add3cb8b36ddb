// The parts of a report besides its findings: environment, passes, processes, and everything that could not be seen.
#pragma once

#include <string_view>

#include "diagnose/diagnosis.h"
#include "symbolize/device_testimony.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

void add_environment(Diagnosis& report, const session::Session& session);
void add_processes(Diagnosis& report, const session::Session& session);
// Needs the findings: a pass's outcome is what it found.
void add_passes(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
                const symbolize::DeviceTestimony& testimony);
// Each sentence once; call it when the symbolizer has done the findings' work.
void add_notes(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
               symbolize::Symbolizer& symbolizer);

// After that: work that had long been unfinished, if a program was ended from outside.
void add_unfinished(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
                    symbolize::Symbolizer& symbolizer);

// Adds a note that source lines are omitted, with the reason. Does nothing if the reason is empty.
void mark_foreign(Diagnosis& report, const std::string& why);

// The text says what a report with `foreign` leaves out, and how to get it.
std::string withheld_text(const Diagnosis& report);

}  // namespace cudadiag::diagnose
