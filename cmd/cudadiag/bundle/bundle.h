// A single file for an issue tracker with the report, the versions and the program's script, without private data.
#pragma once

#include <string>

#include "diagnose/diagnosis.h"
#include "session/session.h"

namespace cudadiag::command {

// If `file` is empty, writes to the current folder, to a file named after the session. First lists the contents on
// standard error. Returns the exit status.
int write_bundle(const session::Session& session, const diagnose::Diagnosis& report, std::string file,
                 bool with_inputs);

}  // namespace cudadiag::command
