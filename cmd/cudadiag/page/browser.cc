#include "page/browser.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

#include "launch/process.h"

namespace cudadiag::command {
namespace {

// Commands that open a file with its usual program: on Linux desktops, in WSL, and on Debian.
constexpr const char* kOpeners[] = {"xdg-open", "wslview", "sensible-browser"};

// An opener that fails, or hands the file to a running browser, exits within this time. An opener that becomes the
// browser keeps running.
constexpr std::chrono::milliseconds kPatience{2000}, kLook{20};

// Returns true if the process exits without an error, or is still running after kPatience.
bool has_opened(pid_t pid) {
  int status = 0;
  for (auto waited = std::chrono::milliseconds(0); waited < kPatience; waited += kLook) {
    if (::waitpid(pid, &status, WNOHANG) == pid) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    std::this_thread::sleep_for(kLook);
  }
  return true;
}

std::vector<std::string> own_environment() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
  return variables;
}

}  // namespace

std::optional<base::Error> open_in_browser(const std::string& file) {
  std::vector<std::string> programs(std::begin(kOpeners), std::end(kOpeners));
  // BROWSER may be a colon-separated list. Only its first program is used.
  const char* chosen = std::getenv("BROWSER");
  const std::string browser = chosen == nullptr ? "" : std::string(chosen).substr(0, std::string(chosen).find(':'));
  if (!browser.empty()) programs.insert(programs.begin(), browser);
  const std::string path = std::filesystem::absolute(file).string();
  launch::SpawnOptions options;
  options.apart = true;
  options.outlives = true;
  std::string failed;
  for (const std::string& program : programs) {
    const auto started = launch::start_process({program, path}, own_environment(), options);
    const pid_t* pid = std::get_if<pid_t>(&started);
    if (pid == nullptr) continue;
    if (has_opened(*pid)) return std::nullopt;
    failed += (failed.empty() ? "" : " and ") + program;
  }
  return base::Error{failed.empty() ? "no program that opens web pages was found" : failed + " could not open the page",
                     "open the page yourself: " + path};
}

}  // namespace cudadiag::command
