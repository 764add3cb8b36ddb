#include "page/page.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>
#include <vector>

#include "base/file_descriptor.h"
#include "base/plain_folder.h"
#include "base/result.h"
#include "diagnose/words.h"
#include "launch/process.h"
#include "report/html.h"
#include "sessions/findings.h"
#include "terminal/terminal.h"

namespace cudadiag::command {

namespace {

// Opens a file in the user's browser.

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

// Starts $BROWSER or, if that is unset, the default opener of the desktop or of Windows. Does not wait for the browser
// to exit. Returns nullopt on success.
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

// The page quotes source code, so it is readable only by its owner.
constexpr mode_t kMode = 0600;

std::string page_of(const session::Session& session, const PageRequest& request) {
  const IllustratedDiagnosis found = examine_for_page(session, request.foreign);
  const report::Redaction secrets({}, {}, {});
  const report::Redaction removed = request.keep_names ? secrets : own_names(session);
  return report::write_html(found.report, found.pictures, {&removed, CUDADIAG_VERSION});
}

bool write_file(const std::string& file, const std::string& page) {
  std::error_code ignored;
  const bool is_new = !std::filesystem::exists(file, ignored);
  const base::FileDescriptor out(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode));
  if (out.valid() && base::write_all(out.get(), page)) return true;
  say("cannot write " + file + ": " + std::strerror(errno) + "; choose another file: --html FILE.html");
  if (out.valid() && is_new) base::remove_file(out, file);
  return false;
}

}  // namespace

int write_page(const session::Session& session, const PageRequest& request) {
  std::string file = request.file;
  if (file == "-" && request.open)
    return say("--html - --open: a browser needs a file; use --html FILE.html"), kOwnFailure;
  const std::string extension = std::filesystem::path(file).extension().string();
  if (!file.empty() && file != "-" && extension != ".html" && extension != ".htm") {
    say("--html " + file + ": the file name must end in .html. Put a session before the option: cudadiag report " +
        diagnose::shell_word(file) + " --html FILE.html");
    return kOwnFailure;
  }
  if (file.empty() && (request.open || ::isatty(STDOUT_FILENO) != 0)) {
    file = "cudadiag-" + session.folder.filename().string() + ".html";
  }
  const std::string page = page_of(session, request);
  if (file.empty() || file == "-") return print(page), 0;
  if (!write_file(file, page)) return kOwnFailure;
  say("wrote the page to " + file + (request.keep_names ? "" : ", without home folders, user names and host names") +
      "; review the page before you share it");
  if (!request.open) return 0;
  // The page was written, so a missing browser is not a failure.
  if (const auto obstacle = open_in_browser(file)) say(*obstacle);
  return 0;
}

}  // namespace cudadiag::command
