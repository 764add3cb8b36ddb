#include "sessions/findings.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "analyse/reruns/rerun_window.h"
#include "base/file_descriptor.h"
#include "diagnose/run_context.h"
#include "diagnose/status.h"
#include "report/json.h"
#include "session/ownership.h"
#include "session/session_folders.h"
#include "session/session_reader.h"
#include "session/session_writer.h"
#include "symbolize/source_excerpt.h"
#include "terminal/terminal.h"

namespace cudadiag::command {

diagnose::Diagnosis examine_found(const session::Session& session, bool trusted) {
  const std::string foreign = trusted ? "" : session::why_foreign(session);
  const symbolize::WithheldSources withheld(!foreign.empty());
  diagnose::SessionState state(session);
  diagnose::Diagnosis report = state.diagnosis();
  diagnose::mark_foreign(report, foreign);
  return report;
}

IllustratedDiagnosis examine_for_page(const session::Session& session, bool trusted) {
  const std::string foreign = trusted ? "" : session::why_foreign(session);
  const symbolize::WithheldSources withheld(!foreign.empty());
  diagnose::SessionState state(session);
  IllustratedDiagnosis found{state.diagnosis(), diagnose::pictures_of(state)};
  diagnose::mark_foreign(found.report, foreign);
  return found;
}

void print_unfinished(diagnose::SessionState& state, bool kept) {
  const session::Session& session = state.session();
  const auto status = diagnose::build_status(session, state.analysis(), false, state.symbolizer());
  const std::string text = diagnose::unfinished_text(status);
  if (text.empty()) return;
  say(text + (kept ? "; cudadiag status " + session.folder.string() + " shows all unfinished work" : ""));
}

namespace {

// Writes to a file that was opened with O_NONBLOCK. Gives up with errno ETIMEDOUT if the reader of a pipe takes nothing
// for some seconds.
bool write_unless_stuck(int file, std::string_view text) {
  constexpr int kPatienceMs = 10'000;
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
    if (written >= 0 || errno == EINTR) continue;
    pollfd writable{file, POLLOUT, 0};
    if (errno != EAGAIN) return false;
    if (::poll(&writable, 1, kPatienceMs) == 0) return errno = ETIMEDOUT, false;
  }
  return true;
}

std::string why_unwritten(const std::string& path, int error) {
  std::error_code ignored;
  if (error == ETIMEDOUT) return "its reader takes nothing";
  return error == ENXIO && std::filesystem::is_fifo(path, ignored) ? "no process reads it" : std::strerror(error);
}

}  // namespace

void empty_older_report(const std::string& path) {
  std::error_code ignored;  // ignored: writing the report will fail for the same reason
  if (std::filesystem::is_regular_file(path, ignored)) std::filesystem::resize_file(path, 0, ignored);
}

void write_json_file(const diagnose::Diagnosis& report, const std::string& path) {
  // Without O_NONBLOCK, opening a pipe that no process reads would block forever, and so could writing to it.
  const base::FileDescriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0666));
  if (file.valid() && write_unless_stuck(file.get(), report::write_json(report))) return;
  const int error = errno;
  say(fmt::format("cannot write the report to {}: {}; {} run: cudadiag report --json", path, why_unwritten(path, error),
                  session::is_for_lack_of_room(error) ? "free some space, then" : "choose a writable file, or"));
}

base::Result<std::string> window_of_session(const std::string& name, const std::optional<std::string>& output) {
  std::optional<std::filesystem::path> root;
  if (output) root = *output;
  const auto folder = session::find_session(session::roots_to_read(root), name);
  if (const auto* failure = std::get_if<base::Error>(&folder)) return *failure;
  const auto opened = session::open_session(std::get<std::filesystem::path>(folder));
  if (const auto* failure = std::get_if<base::Error>(&opened)) return *failure;
  const auto& session = std::get<session::Session>(opened);
  // The window covers all calls on the suspects' lines, because nobody can predict which call of a long job will fail.
  auto window = analyse::rerun_window(diagnose::SessionState(session).analysis(), analyse::Reach::sites);
  if (window.text.empty()) {
    return base::Error{"the session " + session.folder.string() + " has no suspects to wait for",
                       "choose a session with an asynchronous failure from cudadiag list"};
  }
  return window.text;
}

}  // namespace cudadiag::command
