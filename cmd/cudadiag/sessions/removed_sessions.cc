#include "sessions/removed_sessions.h"

#include <fmt/core.h>

#include "diagnose/words.h"
#include "session/retention.h"
#include "terminal/terminal.h"

namespace cudadiag::command {

void print_removed(const std::vector<std::string>& removed, const std::filesystem::path& root) {
  if (removed.empty()) return;
  const session::Retention keep;
  const std::string which =
      removed.size() == 1 ? fmt::format("1 old session ({})", removed.front())
                          : fmt::format("{} old sessions ({} to {})", removed.size(), removed.back(), removed.front());
  say(fmt::format("removed {}: cudadiag keeps the newest {} in {}, up to {} GB; to protect one: cudadiag keep SESSION",
                  which, keep.sessions, diagnose::shell_word(root.string()), keep.bytes / 1'000'000'000));
}

}  // namespace cudadiag::command
