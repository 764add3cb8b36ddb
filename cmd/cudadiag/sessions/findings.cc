#include "sessions/findings.h"

#include <fmt/core.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/file_descriptor.h"
#include "diagnose/run_context.h"
#include "diagnose/status.h"
#include "diagnose/words.h"
#include "report/writers.h"
#include "session/ownership.h"
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
  say(text + (kept ? "; cudadiag status " + diagnose::shell_word(session.folder.string()) + " shows all unfinished work"
                   : ""));
}

void empty_older_report(const std::string& path) {
  std::error_code ignored;  // ignored: writing the report will fail for the same reason
  if (std::filesystem::is_regular_file(path, ignored)) std::filesystem::resize_file(path, 0, ignored);
}

void write_json_file(const diagnose::Diagnosis& report, const std::string& path) {
  const auto failure = base::write_output_file(path, report::write_json(report), base::Earlier::replaced);
  if (!failure) return;
  say(fmt::format(
      "cannot write the report to {}: {}; {} run: cudadiag report --json", path, failure->why,
      session::is_for_lack_of_room(failure->error) ? "free some space, then" : "choose a writable file, or"));
}

report::Redaction own_names(const session::Session& session) {
  std::vector<std::string> homes, users, hosts = {session.manifest.host, session::host_name()};
  if (const char* home = std::getenv("HOME")) homes.emplace_back(home);
  for (const char* variable : {"USER", "LOGNAME"}) {
    if (const char* user = std::getenv(variable)) users.emplace_back(user);
  }
  if (const passwd* entry = ::getpwuid(::geteuid())) {
    homes.emplace_back(entry->pw_dir);
    users.emplace_back(entry->pw_name);
  }
  return {std::move(homes), std::move(users), std::move(hosts)};
}

}  // namespace cudadiag::command
