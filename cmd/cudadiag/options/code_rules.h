// --user-code PATH and --not-user-code PATH: rules by which the user says which code is the user's own.
#pragma once

#include <optional>
#include <vector>

#include "session/session.h"

namespace CLI {
class App;
}

namespace cudadiag::command {

void add_code_rules(CLI::App* command);

// Returns the rules in the order in which the user gave them. If a path leads through a symbolic link, the real path
// gets the same rule.
std::vector<session::CodeRule> code_rules(const CLI::App& command);

// Returns an error about a path that exists neither on this machine nor in the session, which may come from another
// machine. `session` may be null.
std::optional<base::Error> unknown_path(const std::vector<session::CodeRule>& rules, const session::Session* session);

}  // namespace cudadiag::command
