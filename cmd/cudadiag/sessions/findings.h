// Shared by several subcommands: makes the diagnosis of a session, and writes its report to a file.
#pragma once

#include <string>
#include <vector>

#include "diagnose/diagnosis.h"
#include "diagnose/pictures/pictures.h"
#include "diagnose/session_state.h"
#include "report/text.h"
#include "session/session.h"

namespace cudadiag::command {

// Returns the diagnosis of a session. If the session may belong to another user, the diagnosis has no source lines, and
// says why. `trusted`: the user trusts the session, so its lines are shown in any case.
diagnose::Diagnosis examine_found(const session::Session& session, bool trusted);

struct IllustratedDiagnosis {
  diagnose::Diagnosis report;
  std::vector<diagnose::FindingPictures> pictures;
};

// Returns the same diagnosis, with its pictures.
IllustratedDiagnosis examine_for_page(const session::Session& session, bool trusted);

// If some work was certainly unfinished for a second or more when its process ended, prints a sentence about the oldest
// such work. `kept`: the session is kept, so the sentence may refer to it.
void print_unfinished(diagnose::SessionState& state, bool kept);

// Empties the report of an earlier run, so that nobody takes it for this run's if this run ends early.
void empty_older_report(const std::string& path);

// If the file cannot be written, prints why.
void write_json_file(const diagnose::Diagnosis& report, const std::string& path);

// Returns the operations that a run must wait for to catch the failure of this session (wire/rerun/window.h).
base::Result<std::string> window_of_session(const std::string& session, const std::optional<std::string>& output);

}  // namespace cudadiag::command
