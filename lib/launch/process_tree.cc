#include "launch/process_tree.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "base/processes.h"

namespace cudadiag::launch {

pid_t parent_of(pid_t process) { return base::state_of(process).parent; }

bool descends_from(pid_t process, pid_t ancestor) {
  while (process > 1 && process != ancestor) process = parent_of(process);
  return process == ancestor;
}

std::vector<pid_t> descendants_of(pid_t ancestor, const std::vector<pid_t>& spared) {
  std::multimap<pid_t, pid_t> children;
  for (const pid_t process : base::all_processes()) children.emplace(parent_of(process), process);
  std::vector<pid_t> found = {ancestor};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto [begin, end] = children.equal_range(found[i]);
    for (auto child = begin; child != end; ++child) {
      if (std::ranges::find(spared, child->second) == spared.end()) found.push_back(child->second);
    }
  }
  found.erase(found.begin());
  return found;
}

std::vector<pid_t> listed_descendants_of(pid_t ancestor, const std::vector<pid_t>& spared) {
  if (::access("/proc/thread-self/children", R_OK) != 0) return descendants_of(ancestor, spared);
  std::vector<pid_t> found = {ancestor};
  for (std::size_t i = 0; i < found.size(); ++i) {
    std::error_code error;
    std::filesystem::directory_iterator threads("/proc/" + std::to_string(found[i]) + "/task", error), end;
    for (; !error && threads != end; threads.increment(error)) {
      std::ifstream children(threads->path() / "children");
      for (pid_t child = 0; children >> child;) {
        if (std::ranges::find(spared, child) == spared.end()) found.push_back(child);
      }
    }
  }
  found.erase(found.begin());
  return found;
}

bool is_marked(pid_t process, const std::string& mark) {
  std::ifstream environment("/proc/" + std::to_string(process) + "/environ");
  for (std::string variable; std::getline(environment, variable, '\0');) {
    if (variable == mark) return true;
  }
  return false;
}

bool signal_process(pid_t process, int signal, const std::function<bool(pid_t)>& belongs) {
  const base::FileDescriptor held(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  if (!held.valid() && errno == ESRCH) return false;
  if (!belongs(process)) return false;
  // Linux before 5.3 cannot pin a pid, so a process that has reused the pid could get the signal.
  if (!held.valid()) return ::kill(process, signal) == 0;
  return ::syscall(SYS_pidfd_send_signal, held.get(), signal, nullptr, 0) == 0;
}

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
