// The options --user-code and --not-user-code, which classify code as the user's own or not.
#pragma once

#include <optional>
#include <vector>

#include "session/session.h"

namespace CLI {
class App;
}

namespace cudadiag::command {

void add_code_rules(CLI::App* command);

// Returns the rules in command-line order. For a path that contains symbolic links, adds the same rule for the real
// path.
std::vector<session::CodeRule> code_rules(const CLI::App& command);

// Returns an error if the path of a rule exists neither on this machine nor in the session. The session may have been
// recorded on another machine. `session` may be null.
std::optional<base::Error> unknown_path(const std::vector<session::CodeRule>& rules, const session::Session* session);

// Adds rules to those of the session, unless unknown_path() returns an error for them.
std::optional<base::Error> add_rules(const std::vector<session::CodeRule>& rules, session::Session& session);

}  // namespace cudadiag::command
