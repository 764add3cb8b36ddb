// The files in which a user shares a report, without private names: the page of `cudadiag report --html`, and the
// bundle of `--bundle`, which has the report, the versions and the program's script for an issue tracker.
#pragma once

#include <string>

#include "diagnose/facts/report_model.h"
#include "session/session.h"

namespace cudadiag::command {

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
