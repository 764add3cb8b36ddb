#include "sessions/findings.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "analyse/analysis.h"
#include "analyse/reruns/rerun_window.h"
#include "diagnose/resolved_site.h"
#include "diagnose/status.h"
#include "diagnose/surroundings.h"
#include "report/json.h"
#include "session/ownership.h"
#include "session/session_folders.h"
#include "session/session_reader.h"
#include "session/session_writer.h"
#include "symbolize/source_excerpt.h"
#include "symbolize/symbolizer.h"
#include "terminal/terminal.h"

namespace cudadiag::command {

diagnose::Diagnosis examine(const session::Session& session,
                            const std::function<bool(const session::Process&)>& wanted) {
  symbolize::Symbolizer symbolizer(session);
  analyse::Analysis analysis = analyse::analyse(session, diagnose::same_line_by(symbolizer));
  if (wanted) {
    std::erase_if(analysis.failures, [&](const analyse::Failure& failure) {
      return failure.process != nullptr && !wanted(*failure.process);
    });
  }
  return diagnose::build(session, analysis, symbolizer);
}

diagnose::Diagnosis examine_found(const session::Session& session, bool trusted) {
  const std::string foreign = trusted ? "" : session::why_foreign(session);
  const symbolize::WithheldSources withheld(!foreign.empty());
  diagnose::Diagnosis report = examine(session);
  diagnose::mark_foreign(report, foreign);
  return report;
}

void tell_unfinished(const session::Session& session, bool kept) {
  symbolize::Symbolizer symbolizer(session);
  const std::string text = diagnose::unfinished_text(diagnose::build_status(session, false, symbolizer));
  if (text.empty()) return;
  say(text + (kept ? "; cudadiag status " + session.folder.string() + " shows all that was unfinished" : ""));
}

void empty_older_report(const std::string& path) {
  std::error_code ignored;  // what cannot be written is told when the report is
  if (std::filesystem::is_regular_file(path, ignored)) std::filesystem::resize_file(path, 0, ignored);
}

void write_json_file(const diagnose::Diagnosis& report, const std::string& path) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << report::write_json(report);
  if (file.flush()) return;
  const int error = errno;
  say(fmt::format(
      "cannot write the report to {}: {}; {}: cudadiag report --json", path, std::strerror(error),
      session::is_for_lack_of_room(error) ? "free some space, then" : "name a file that you can write, or"));
}

session::Result<std::string> window_of_session(const std::string& name, const std::optional<std::string>& output) {
  std::optional<std::filesystem::path> root;
  if (output) root = *output;
  const auto folder = session::find_session(session::roots_to_read(root), name);
  if (const auto* failure = std::get_if<session::Failure>(&folder)) return *failure;
  const auto opened = session::open_session(std::get<std::filesystem::path>(folder));
  if (const auto* failure = std::get_if<session::Failure>(&opened)) return *failure;
  const auto& session = std::get<session::Session>(opened);
  // All calls of the suspects' lines: how often a long job has come there when it fails is not known beforehand.
  auto window = analyse::rerun_window(analyse::analyse(session), analyse::Reach::sites);
  if (window.text.empty()) {
    return session::Failure{"the session " + session.folder.string() + " has no suspects to wait for",
                            "name one with an asynchronous failure; cudadiag list shows them"};
  }
  return window.text;
}

}  // namespace cudadiag::command
