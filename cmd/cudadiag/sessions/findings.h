// Diagnoses a session, writes the report to a file, and finds the names to remove from it. Shared by several
// subcommands.
#pragma once

#include <string>
#include <vector>

#include "diagnose/facts/model.h"
#include "diagnose/pictures/pictures.h"
#include "diagnose/session_state.h"
#include "report/redaction.h"
#include "report/writers.h"
#include "session/session.h"

namespace cudadiag::command {

// Returns the diagnosis of a session. If the session may belong to another user, the diagnosis omits source lines and
// says why. `trusted`: show source lines in any case.
diagnose::Diagnosis examine_found(const session::Session& session, bool trusted);

struct IllustratedDiagnosis {
  diagnose::Diagnosis report;
  std::vector<diagnose::FindingPictures> pictures;
};

// Like examine_found(), but also returns the pictures of the findings.
IllustratedDiagnosis examine_for_page(const session::Session& session, bool trusted);

// If work was certainly unfinished for at least a second when its process ended, prints a sentence about the oldest
// such work. `kept`: the session is kept, so the sentence may refer to it.
void print_unfinished(diagnose::SessionState& state, bool kept);

// Empties the report of an earlier run, so that nobody mistakes it for the report of this run if this run ends early.
void empty_older_report(const std::string& path);

// Writes the report to the file. If the file cannot be written, prints the reason.
void write_json_file(const diagnose::Diagnosis& report, const std::string& path);

// Collects the personal names to remove from a report before the user shares it.

// Returns the user's home folders and user names, the name of this host, and the name of the session's host.
report::Redaction own_names(const session::Session& session);

}  // namespace cudadiag::command
