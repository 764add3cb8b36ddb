#include "launch/supervised/process_tree.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "base/file_descriptor.h"
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
      if (std::find(spared.begin(), spared.end(), child->second) == spared.end()) found.push_back(child->second);
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
        if (std::find(spared.begin(), spared.end(), child) == spared.end()) found.push_back(child);
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

}  // namespace cudadiag::launch
