#include "page/page.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/file_descriptor.h"
#include "base/plain_folder.h"
#include "base/write_all.h"
#include "diagnose/words.h"
#include "page/browser.h"
#include "report/html.h"
#include "sessions/findings.h"
#include "sessions/own_names.h"
#include "terminal/terminal.h"

namespace cudadiag::command {
namespace {

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
