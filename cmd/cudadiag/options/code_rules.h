// --user-code PATH and --not-user-code PATH: what the user says of whose code lies where.
#pragma once

#include <optional>
#include <vector>

#include "session/session.h"

namespace CLI {
class App;
}

namespace cudadiag::command {

void add_code_rules(CLI::App* command);

// As they were typed, one after the other; a path that is a symbolic link counts by both names.
std::vector<session::CodeRule> code_rules(const CLI::App& command);

// A path that is neither here nor in the session, which may be of another machine. `session` is null before a run.
std::optional<base::Error> unknown_path(const std::vector<session::CodeRule>& rules, const session::Session* session);

}  // namespace cudadiag::command
