// --user-code PATH and --not-user-code PATH: the user's rules about which code is the user's own.
#pragma once

#include <optional>
#include <vector>

#include "session/session.h"

namespace CLI {
class App;
}

namespace cudadiag::command {

void add_code_rules(CLI::App* command);

// The rules in the order in which they were typed. If a path leads through a symbolic link, the real path
// gets the same rule.
std::vector<session::CodeRule> code_rules(const CLI::App& command);

// Returns an error if a path exists neither on this machine nor in the session, which may come from another machine.
// `session` may be null.
std::optional<base::Error> unknown_path(const std::vector<session::CodeRule>& rules, const session::Session* session);

}  // namespace cudadiag::command
