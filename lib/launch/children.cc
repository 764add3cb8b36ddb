#include "launch/children.h"

#include <sys/wait.h>

#include <cerrno>

namespace cudadiag::launch {
namespace {

std::map<std::uint32_t, session::ProcessEnd> known_ends;

}  // namespace

session::ProcessEnd end_of(int status) {
  session::ProcessEnd end;
  if (WIFSIGNALED(status)) {
    end.signal = WTERMSIG(status);
  } else {
    end.code = WEXITSTATUS(status);
  }
  return end;
}

bool reap_children() {
  int status = 0;
  pid_t child = 0;
  while ((child = ::waitpid(-1, &status, WNOHANG)) > 0) known_ends[static_cast<std::uint32_t>(child)] = end_of(status);
  return child == 0 || errno != ECHILD;
}

bool succeeds(pid_t child) {
  int status = 1;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

const std::map<std::uint32_t, session::ProcessEnd>& ends_of_children() { return known_ends; }

const session::ProcessEnd* end_of_child(pid_t child) {
  const auto found = known_ends.find(static_cast<std::uint32_t>(child));
  return found == known_ends.end() ? nullptr : &found->second;
}

void forget_end(pid_t child) { known_ends.erase(static_cast<std::uint32_t>(child)); }

}  // namespace cudadiag::launch
