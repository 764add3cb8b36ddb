// One file for an issue tracker: the report, versions and the program's script, without what is nobody else's business.
#pragma once

#include <string>

#include "diagnose/diagnosis.h"
#include "session/session.h"

namespace cudadiag::command {

// `file` empty: a name after the session's, in the current folder. What goes in is listed on standard error first. The
// exit status.
int write_bundle(const session::Session& session, const diagnose::Diagnosis& report, std::string file,
                 bool with_inputs);

}  // namespace cudadiag::command
