#include "base/processes.h"

#include <limits.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/text.h"

namespace cudadiag::base {
namespace {

std::ifstream open_file(Pid process, const char* name) {
  return std::ifstream("/proc/" + std::to_string(process) + "/" + name);
}

bool is_end(char state) { return state == 'Z' || state == 'X'; }

}  // namespace

std::vector<pid_t> all_processes() {
  std::vector<pid_t> processes;
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    if (const auto process = whole_number<pid_t>(it->path().filename().string())) processes.push_back(*process);
  }
  return processes;
}

// Parses "pid (name) state parent …". The name may contain any characters, even parentheses. The number of threads is
// field 20, and the start time is field 22. A process whose first thread has exited looks like a zombie.
ProcessState state_of(Pid process) {
  // Uses operator<<, because istreambuf_iterator throws if the process exits between opening and reading.
  std::ostringstream content;
  content << open_file(process, "stat").rdbuf();
  const std::string text = content.str();
  const std::size_t name_end = text.rfind(')');
  ProcessState state;
  if (name_end == std::string::npos || name_end + 4 > text.size()) return state;
  std::istringstream fields(text.substr(name_end + 1));
  char letter = 0;
  fields >> letter >> state.parent;
  constexpr int kBetween = 15;  // fields 5 to 19
  std::string skipped;
  for (int i = 0; i < kBetween; ++i) fields >> skipped;
  int threads = 0;
  fields >> threads >> skipped >> state.start;
  state.ended = is_end(letter) && threads <= 1;
  return state;
}

Life life_of(Pid process) {
  std::ifstream file = open_file(process, "status");
  Life life = Life::gone;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("State:")) {
      const std::size_t letter = line.find_first_not_of(" \t", 6);
      if (letter == std::string::npos || is_end(line[letter])) return Life::gone;
      life = line[letter] == 'T' || line[letter] == 't' ? Life::stopped : Life::runs;
    }
    if (line.starts_with("TracerPid:") && line.find_first_of("123456789", 10) != std::string::npos)
      return Life::stopped;
  }
  return life;
}

bool has_ended(Pid process) { return life_of(process) == Life::gone; }

std::string process_name(Pid process) {
  std::ifstream file = open_file(process, "comm");
  std::string name;
  std::getline(file, name);
  return name;
}

std::string host_name() {
  // Leaves room for a NUL, because gethostname need not terminate a name that just fits.
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::vector<std::string> own_environment() {
  std::vector<std::string> variables;
  for (char** variable = ::environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
  return variables;
}

}  // namespace cudadiag::base
