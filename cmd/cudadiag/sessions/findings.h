// Functions that several subcommands share: the diagnosis of a session, and a file with its report.
#pragma once

#include <string>
#include <vector>

#include "diagnose/diagnosis.h"
#include "diagnose/pictures/pictures.h"
#include "diagnose/session_state.h"
#include "report/text.h"
#include "session/session.h"

namespace cudadiag::command {

// The diagnosis of a session. If the session may belong to another user, the diagnosis has no source lines, and says
// why. `trusted` means that the user trusts the session.
diagnose::Diagnosis examine_found(const session::Session& session, bool trusted);

struct IllustratedDiagnosis {
  diagnose::Diagnosis report;
  std::vector<diagnose::FindingPictures> pictures;
};

// The same diagnosis, with its pictures.
IllustratedDiagnosis examine_for_page(const session::Session& session, bool trusted);

// Prints one sentence about the oldest work that was certainly unfinished for a second or more when its process ended,
// if there is any.
void print_unfinished(diagnose::SessionState& state, bool kept);

// Empties a report of an earlier run, because this run may end before it writes its own.
void empty_older_report(const std::string& path);

// Prints a message if the file cannot be written.
void write_json_file(const diagnose::Diagnosis& report, const std::string& path);

// The operations to wait for in a run that must catch the failure of this session (wire/rerun/window.h).
base::Result<std::string> window_of_session(const std::string& session, const std::optional<std::string>& output);

}  // namespace cudadiag::command
