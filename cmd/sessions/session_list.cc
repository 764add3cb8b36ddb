#include "sessions/session_list.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "command_line.h"
#include "diagnose/facts/kernel_name.h"
#include "diagnose/facts/place.h"
#include "diagnose/words.h"
#include "session/retention.h"
#include "session/session_files.h"
#include "session/session_folders.h"
#include "session/session_reader.h"
#include "sessions/session_choice.h"
#include "terminal.h"

namespace cudadiag::command {

namespace {

namespace fs = std::filesystem;

// Returns the number of seconds since the run began or, without a launcher, since the latest recording.
long long seconds_since(const session::SessionAge& age) {
  std::tm time{};
  if (::strptime(age.second.c_str(), "%Y%m%d-%H%M%S", &time) == nullptr) return 0;
  return std::max<long long>(0, std::time(nullptr) - ::timegm(&time));
}

// Returns the state of a session that no launcher has finished.
RunState state_of(const session::Session& session) {
  bool all_ended = !session.processes.empty();
  for (const session::Process& process : session.processes) {
    const std::optional<bool> alive = session::lives(session.folder, process.record);
    if (alive == true) return RunState::running;
    all_ended = all_ended && alive == false;
  }
  return all_ended ? RunState::ended : RunState::unfinished;
}

// Returns a function that opens the session at its first call, because that reads the whole recording.
ReadSession opener_of(const fs::path& folder) {
  auto opened = std::make_shared<std::optional<base::Result<session::Session>>>();
  return [opened, folder]() -> const base::Result<session::Session>& {
    if (!*opened) *opened = session::open_session(folder);
    return **opened;
  };
}

// Takes the command from the first of these that contains it: the manifest, the launcher's running manifest, a recorded
// process that failed, or another one. Without a launcher, also finds out whether the recorded processes are alive.
void find_command(const session::Manifest& manifest, const ReadSession& open, ListedSession& listed) {
  const fs::path& path = listed.folder;
  listed.command = manifest.command.empty() ? session::open_running_manifest(path).command : manifest.command;
  if (!listed.command.empty()) return;
  if (const auto* failure = std::get_if<base::Error>(&open())) {
    listed.why_no_command = failure->what;
    return;
  }
  const auto& session = std::get<session::Session>(open());
  if (listed.state == RunState::unfinished) listed.state = state_of(session);
  for (const session::Process& process : session.processes) {
    const bool leads = listed.command.empty() || process.record.frozen_code != 0;
    if (leads && !process.argv.empty()) listed.command = process.argv;
    if (process.record.frozen_code != 0) break;
  }
  if (!listed.command.empty()) return;
  const session::Unrecorded left = session::unrecorded_in(path / session::kRecordFolder);
  listed.why_no_command =
      "unknown command: " + (left.processes > 0 ? session::nothing_recorded_of(left).what : session::why_unused(path));
}

std::string age_text(long long seconds) {
  constexpr long long minute = 60, hour = 60 * minute, day = 24 * hour;
  if (seconds < minute) return fmt::format("{} s", seconds);
  if (seconds < hour) return fmt::format("{} min", seconds / minute);
  if (seconds < 2 * day) return fmt::format("{} h", seconds / hour);
  return fmt::format("{} days", seconds / day);
}

std::string ending(const ListedSession& session) {
  if (session.state == RunState::running) return "running";
  if (session.state == RunState::ended) return "ended";
  if (session.end.signal) return fmt::format("signal {}", *session.end.signal);
  return session.end.code ? fmt::format("exit {}", *session.end.code) : "not finished";
}

std::string result_text(const ListedSession& session) {
  const SessionSummary& found = session.found;
  std::string text = found.kind.empty() ? ending(session) : base::printable(found.title);
  if (found.code != 0) text += fmt::format(" ({})", found.code);
  return session.kept ? text + ", kept" : text;
}

std::string line_text(const SessionSummary& found) {
  if (found.file.empty()) return found.function.empty() ? "-" : base::printable(found.function);
  return base::printable(fs::path(found.file).filename().string()) + fmt::format(":{}", found.line);
}

std::string kernel_text(const SessionSummary& found) {
  constexpr std::size_t kMostKernelColumns = 24;
  return found.kernel.empty() ? "-" : base::printable(diagnose::short_kernel_name(found.kernel, kMostKernelColumns));
}

std::string command_text(const ListedSession& session) {
  if (session.command.empty()) return "(" + base::printable(session.why_no_command) + ")";
  return diagnose::shell_line(session.command);
}

}  // namespace

std::vector<ListedSession> listed_sessions(const std::vector<fs::path>& folders) {
  std::vector<ListedSession> all;
  for (const fs::path& folder : folders) {
    ListedSession listed;
    listed.number = all.size() + 1;
    listed.folder = folder;
    listed.age = seconds_since(session::age_of(folder));
    const session::Manifest manifest = session::open_manifest(folder);
    listed.state = session::run_goes_on(folder) ? RunState::running
                   : manifest.passes.empty()    ? RunState::unfinished
                                                : RunState::finished;
    if (listed.state == RunState::finished) listed.end = manifest.passes.front().end;
    listed.kept = session::is_kept(folder);
    const ReadSession open = opener_of(folder);
    if (listed.state != RunState::running) listed.found = summary_of(folder, open);
    find_command(manifest, open, listed);
    all.push_back(std::move(listed));
  }
  return all;
}

std::string list_text(const std::vector<ListedSession>& sessions, std::optional<int> columns) {
  constexpr std::size_t kColumns = 5;  // the columns before COMMAND, which fills the rest of the row
  std::vector<std::array<std::string, kColumns + 1>> rows = {{"#", "AGE", "RESULT", "LINE", "KERNEL", "COMMAND"}};
  for (const ListedSession& session : sessions) {
    rows.push_back({std::to_string(session.number), age_text(session.age), result_text(session),
                    line_text(session.found), kernel_text(session.found), command_text(session)});
  }
  std::array<std::size_t, kColumns> widths{};
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], base::width(row[i]));
  }
  // On a narrow terminal, a long result must not push the lines off it.
  constexpr std::size_t kResult = 2, kKernel = 4, kGap = 2;
  std::size_t wanted = 3;  // for "..." in place of the kernel
  for (std::size_t i = 0; i < kKernel; ++i) wanted += widths[i] + kGap;
  if (columns && wanted > static_cast<std::size_t>(*columns)) {
    const std::size_t excess = wanted - static_cast<std::size_t>(*columns);
    widths[kResult] = std::max(base::width(rows[0][kResult]), widths[kResult] - std::min(widths[kResult], excess));
    for (auto& row : rows) row[kResult] = base::clip(row[kResult], widths[kResult]);
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < kColumns; ++i) line += row[i] + std::string(widths[i] - base::width(row[i]) + 2, ' ');
    line += row[kColumns];
    text += (columns ? base::clip(line, static_cast<std::size_t>(*columns)) : line) + "\n";
  }
  return text;
}

std::string list_json(const std::vector<ListedSession>& sessions) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  const auto optional = [](const std::optional<int>& number) { return number ? Json(*number) : Json(nullptr); };
  constexpr const char* kStates[] = {"running", "unfinished", "ended", "finished"};
  for (const ListedSession& session : sessions) {
    const SessionSummary& found = session.found;
    Json finding = nullptr;
    if (!found.kind.empty()) {
      finding = {{"kind", found.kind},
                 {"title", found.title},
                 {"code", found.code},
                 {"location", {{"file", found.file}, {"line", found.line}, {"function", found.function}}},
                 {"grade", found.grade},
                 {"kernel", found.kernel}};
    }
    list.push_back({{"number", session.number},
                    {"name", session.folder.filename().string()},
                    {"folder", fs::absolute(session.folder).string()},
                    {"age_seconds", session.age},
                    {"state", kStates[static_cast<int>(session.state)]},
                    {"exit", {{"code", optional(session.end.code)}, {"signal", optional(session.end.signal)}}},
                    {"kept", session.kept},
                    {"finding", finding},
                    {"command", session.command}});
  }
  const Json json = {{"schema", "cudadiag.list/1"}, {"sessions", list}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMostBytes = 1u << 16;

// Returns the edition of a session. A cached summary of another edition is outdated. The edition changes if reruns
// rewrite the manifest, and with each build of cudadiag.
std::string edition_of(const fs::path& session) {
  std::error_code error;
  const auto written = fs::last_write_time(session / session::kManifest, error).time_since_epoch();
  return error ? "" : std::string(kCommit) + " " + std::to_string(written.count());
}

std::optional<SessionSummary> kept_in(const fs::path& session, const std::string& edition) {
  const auto text = session::read_plain_file(session / session::kSummary, kMostBytes);
  const Json json = Json::parse(text.value_or(""), nullptr, false);
  try {
    if (!json.is_object() || edition.empty() || json.at("edition") != edition) return std::nullopt;
    return SessionSummary{json.at("kind"), json.at("title"),    json.at("code"),  json.at("file"),
                          json.at("line"), json.at("function"), json.at("grade"), json.at("kernel")};
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

void keep_in(const fs::path& session, const std::string& edition, const SessionSummary& summary) {
  const Json json = {{"edition", edition},           {"kind", summary.kind},   {"title", summary.title},
                     {"code", summary.code},         {"file", summary.file},   {"line", summary.line},
                     {"function", summary.function}, {"grade", summary.grade}, {"kernel", summary.kernel}};
  const std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace) + '\n';
  base::replace_file(base::open_plain_folder(AT_FDCWD, session.c_str()), session::kSummary,
                     [&](int file) { return base::write_all(file, text); });
}

SessionSummary summary_of(const diagnose::Finding& finding) {
  const diagnose::Location& place = finding.location.nearest();
  SessionSummary summary;
  summary.kind = diagnose::word(finding.kind);
  summary.title = finding.title;
  summary.code = static_cast<int>(finding.code);
  summary.file = place.file;
  summary.line = place.line;
  summary.function = place.function;
  summary.grade = diagnose::word(finding.evidence.grade());
  if (finding.launch) summary.kernel = finding.launch->kernel;
  return summary;
}

}  // namespace

SessionSummary summary_of(const fs::path& folder, const ReadSession& open) {
  const std::string edition = edition_of(folder);
  if (auto kept = kept_in(folder, edition)) return *kept;
  const auto* read = std::get_if<session::Session>(&open());
  if (read == nullptr) return {};
  const diagnose::Diagnosis found = examine_found(*read, false);
  const SessionSummary summary = found.findings.empty() ? SessionSummary() : summary_of(found.findings.front());
  if (!edition.empty()) keep_in(folder, edition, summary);
  return summary;
}

void print_removed(const std::vector<std::string>& removed, const std::filesystem::path& root) {
  if (removed.empty()) return;
  const session::Retention keep;
  const std::string which =
      removed.size() == 1 ? fmt::format("1 old session ({})", removed.front())
                          : fmt::format("{} old sessions ({} to {})", removed.size(), removed.back(), removed.front());
  say(fmt::format("removed {}: cudadiag keeps the newest {} in {}, up to {} GB; to protect one: cudadiag keep SESSION",
                  which, keep.sessions, diagnose::shell_word(root.string()), keep.bytes / 1'000'000'000));
}

}  // namespace cudadiag::command
