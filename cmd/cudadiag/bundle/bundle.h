// One file for an issue tracker: the report, versions and the program's script, without private data.
#pragma once

#include <string>

#include "diagnose/diagnosis.h"
#include "session/session.h"

namespace cudadiag::command {

// `file` empty: a name made from the session's, in the current folder. Lists the contents on standard error first.
// Returns the exit status.
int write_bundle(const session::Session& session, const diagnose::Diagnosis& report, std::string file,
                 bool with_inputs);

}  // namespace cudadiag::command
