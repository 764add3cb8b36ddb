#include "page/browser.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "launch/process.h"

namespace cudadiag::command {
namespace {

// Programs that open files on a desktop, in WSL and on Debian.
constexpr const char* kOpeners[] = {"xdg-open", "wslview", "sensible-browser"};

std::vector<std::string> own_environment() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
  return variables;
}

}  // namespace

std::optional<base::Error> open_in_browser(const std::string& file) {
  std::vector<std::string> programs(std::begin(kOpeners), std::end(kOpeners));
  // BROWSER is a list of programs, separated by colons. Only the first one is used.
  const char* chosen = std::getenv("BROWSER");
  const std::string browser = chosen == nullptr ? "" : std::string(chosen).substr(0, std::string(chosen).find(':'));
  if (!browser.empty()) programs.insert(programs.begin(), browser);
  const std::string path = std::filesystem::absolute(file).string();
  launch::SpawnOptions options;
  options.apart = true;
  options.outlives = true;
  for (const std::string& program : programs) {
    if (std::holds_alternative<pid_t>(launch::start_process({program, path}, own_environment(), options))) {
      return std::nullopt;
    }
  }
  return base::Error{"no program that opens web pages was found", "open the page yourself: " + path};
}

}  // namespace cudadiag::command
