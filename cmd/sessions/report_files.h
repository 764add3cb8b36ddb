// Diagnoses a session, and writes the report to files: as JSON, as the page of `cudadiag report --html`, and as the
// bundle of `--bundle`, which has the report, the versions and the program's script for an issue tracker, without
// private data.
#pragma once

#include <string>
#include <vector>

#include "diagnose/facts/report_model.h"
#include "diagnose/page_drawings.h"
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

// Writes the report to the file. If the file cannot be written, prints the reason. `stored`: the session has all of the
// report.
void write_json_file(const diagnose::Diagnosis& report, const std::string& path, bool stored);

// Returns the names to remove from a report before the user shares it: the user's home folders and user names, the name
// of this host, and the name of the session's host.
report::Redaction own_names(const session::Session& session);

struct PageRequest {
  // The file to write. "-" means standard output. If the name is empty, the page goes to standard output. If `open` is
  // set or standard output is a terminal, we choose a file name instead.
  std::string file;
  bool open = false;        // show the page in a browser; requires a file
  bool keep_names = false;  // do not redact home folders, user names and host names
  bool foreign = false;     // show source lines even if the session may belong to another user
};

// Returns the exit status.
int write_page(const session::Session& session, const PageRequest& request);

// Lists the contents on standard error, then writes the file. If `file` is empty, the file is named after the session
// and written to the current folder. Returns the exit status.
int write_bundle(const session::Session& session, const diagnose::Diagnosis& report, std::string file,
                 bool with_inputs);

}  // namespace cudadiag::command
