// --user-code PATH and --not-user-code PATH: the user's rules about which code is the user's.
#pragma once

#include <optional>
#include <vector>

#include "session/session.h"

namespace CLI {
class App;
}

namespace cudadiag::command {

void add_code_rules(CLI::App* command);

// The rules in the order in which they were typed. A path that is a symbolic link counts under both names.
std::vector<session::CodeRule> code_rules(const CLI::App& command);

// An error if a path exists neither here nor in the session, which may be from another machine. `session` may be null.
std::optional<base::Error> unknown_path(const std::vector<session::CodeRule>& rules, const session::Session* session);

}  // namespace cudadiag::command
