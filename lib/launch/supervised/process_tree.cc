#include "launch/supervised/process_tree.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "base/file_descriptor.h"

namespace cudadiag::launch {

// Parses "pid (name) state parent …". The name may contain any characters, even parentheses. The start time is field
// 22.
ProcessState state_of(pid_t process) {
  // Uses operator<<, because istreambuf_iterator throws if the process exits between opening and reading.
  std::ostringstream content;
  content << std::ifstream("/proc/" + std::to_string(process) + "/stat").rdbuf();
  const std::string text = content.str();
  const std::size_t name_end = text.rfind(')');
  ProcessState state;
  if (name_end == std::string::npos || name_end + 4 > text.size()) return state;
  std::istringstream fields(text.substr(name_end + 1));
  char letter = 0;
  fields >> letter >> state.parent;
  state.ended = letter == 'Z' || letter == 'X';
  constexpr int kBetween = 17;  // fields 5 to 21
  std::string skipped;
  for (int i = 0; i < kBetween; ++i) fields >> skipped;
  fields >> state.start;
  return state;
}

pid_t parent_of(pid_t process) { return state_of(process).parent; }

std::vector<pid_t> all_processes() {
  std::vector<pid_t> processes;
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.find_first_not_of("0123456789") == std::string::npos) {
      processes.push_back(static_cast<pid_t>(std::stol(name)));
    }
  }
  return processes;
}

bool descends_from(pid_t process, pid_t ancestor) {
  while (process > 1 && process != ancestor) process = parent_of(process);
  return process == ancestor;
}

std::vector<pid_t> descendants_of(pid_t ancestor, const std::vector<pid_t>& spared) {
  std::multimap<pid_t, pid_t> children;
  for (const pid_t process : all_processes()) children.emplace(parent_of(process), process);
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
