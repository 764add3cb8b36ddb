// Packs the report, the versions and the program's script into one file for an issue tracker, without private data.
#pragma once

#include <string>

#include "diagnose/facts/model.h"
#include "session/session.h"

namespace cudadiag::command {

// Lists the contents on standard error, then writes the file. If `file` is empty, the file is named after the session
// and written to the current folder. Returns the exit status.
int write_bundle(const session::Session& session, const diagnose::Diagnosis& report, std::string file,
                 bool with_inputs);

}  // namespace cudadiag::command
