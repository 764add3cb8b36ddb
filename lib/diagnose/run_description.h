// The parts of a report besides its findings: environment, passes, processes and notes.
#pragma once

#include <string>
#include <vector>

#include "analyse/analysis.h"
#include "diagnose/facts/report_model.h"
#include "session/session.h"
#include "symbolize/symbolizer.h"
#include "symbolize/tool_results.h"

namespace cudadiag::diagnose {

// If a Python program failed without a CUDA failure, adds a note with the line that forked after CUDA was used. In the
// child, PyTorch raises an error before it calls CUDA.
void note_forks(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
                symbolize::Symbolizer& symbolizer);

void add_environment(Diagnosis& report, const session::Session& session);
void add_processes(Diagnosis& report, const session::Session& session);
// Call this after the findings are complete, because the outcome of a pass depends on them.
void add_passes(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
                const symbolize::ToolResults& results);
// Returns text such as "writing ckpt/ and from 2 other actions". Names the last attempt, which probably ended the
// rerun. Shows paths inside `directory` relative to it. Empty if `kept` is empty.
std::string kept_from_text(const std::vector<session::KeptFrom>& kept, const std::string& directory);
// Adds each note once. Call this after all findings are resolved, because resolving adds the symbolizer's notes.
void add_notes(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
               symbolize::Symbolizer& symbolizer);

// If the program was killed, adds a note on the work that had been unfinished for a long time. Call this after
// add_notes().
void add_unfinished(Diagnosis& report, const session::Session& session, const analyse::Analysis& analysis,
                    symbolize::Symbolizer& symbolizer);

// Adds a note that the report shows no source lines, and why. Does nothing if `why` is empty.
void mark_foreign(Diagnosis& report, const std::string& why);

// Returns why the report omits source lines of a session that may belong to another user, and how to get them.
std::string withheld_text(const Diagnosis& report);

}  // namespace cudadiag::diagnose
