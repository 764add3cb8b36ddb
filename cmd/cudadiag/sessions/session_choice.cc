#include "sessions/session_choice.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "analyse/site_keys.h"
#include "analyse/stream_history.h"
#include "base/demangle.h"
#include "base/files.h"
#include "base/text.h"
#include "command_line.h"
#include "diagnose/facts/kernel_name.h"
#include "diagnose/facts/place.h"
#include "diagnose/session_state.h"
#include "diagnose/words.h"
#include "session/plain_file.h"
#include "session/retention.h"
#include "session/session_folders.h"
#include "session/session_reader.h"
#include "sessions/report_files.h"
#include "symbolize/symbolizer.h"
#include "terminal.h"

namespace cudadiag::command {

namespace {

namespace fs = std::filesystem;
using supervise::LiveRun;

// Returns the end of a message that lists the processes still running after their launcher was killed; empty if none
// are.
std::string still_there(const session::LivePlace& place) {
  std::string pids;
  for (const std::uint32_t pid : session::holders_of(place)) pids += (pids.empty() ? "" : ", ") + std::to_string(pid);
  return pids.empty() ? "" : "; the program is still running, but cudadiag has stopped recording it: pid " + pids;
}

base::Error failure_of(const supervise::KilledRun& run) {
  const bool lost = session::was_lost(run.folder);
  return {"the run recorded in " + run.folder.string() + " is incomplete: cudadiag run was killed" +
              (lost ? ", and the recording is lost" : "") + still_there(run.place),
          lost ? "cudadiag list shows the other sessions"
               : "to see what was recorded before that: cudadiag report " + diagnose::shell_word(run.folder.string())};
}

// Returns a sentence about a run that is newer than `folder` but has nothing to show; "" if there is none. `folder` may
// be null.
std::string newer_run(const std::vector<session::Root>& roots, const fs::path* folder) {
  const auto live = session::newest_live(roots), lost = session::newest_lost(roots);
  const bool was_lost = lost && (!live || live->filename() < lost->filename());
  const auto& newer = was_lost ? lost : live;
  if (!newer || (folder != nullptr && folder->filename() >= newer->filename())) return "";
  const auto place = was_lost ? session::live_place(*newer) : std::nullopt;
  return was_lost ? "a newer run is incomplete: cudadiag run was killed, and the recording in " + newer->string() +
                        " is lost" + (place ? still_there(*place) : "")
                  : "a newer run has not ended and has no report yet (to see its state: cudadiag status " +
                        diagnose::shell_word(newer->string()) + ")";
}

// If nothing has been recorded to a newer session, prints that an older one is used instead.
void print_unused(const std::vector<session::Root>& roots, const base::Result<fs::path>& shown) {
  const auto* folder = std::get_if<fs::path>(&shown);
  const auto newer = folder == nullptr ? std::nullopt : session::newest_unused(roots);
  if (!newer || session::age_of(*newer) <= session::age_of(*folder)) return;
  say(session::finished_name(*newer).string() + ": " + session::why_unused(*newer) + "; using " + folder->string() +
      " instead");
}

bool means_latest(const std::string& wanted) { return wanted.empty() || wanted == session::kLatest; }

LiveRun open_run(const fs::path& folder) {
  auto opened = LiveRun::open(folder);
  if (const auto* killed = std::get_if<supervise::KilledRun>(&opened)) throw failure_of(*killed);
  if (auto* failure = std::get_if<base::Error>(&opened)) throw std::move(*failure);
  return std::move(std::get<LiveRun>(opened));
}

base::Result<fs::path> find_session(const std::optional<fs::path>& output, const std::string& wanted, Older older) {
  const auto roots = session::roots_to_read(output);
  auto found = session::find_session(roots, wanted);
  if (means_latest(wanted)) {
    const auto* folder = std::get_if<fs::path>(&found);
    const std::string newer = newer_run(roots, folder);
    if (!newer.empty() && folder != nullptr && older == Older::refused) {
      return base::Error{
          newer, "to choose an older session instead: cudadiag bisect " + diagnose::shell_word(folder->string())};
    }
    if (!newer.empty()) say(folder == nullptr ? newer : newer + "; using " + folder->string() + " instead");
    print_unused(roots, found);
  }
  return found;
}

}  // namespace

bool is_latest(const fs::path& folder, const std::optional<fs::path>& output) {
  if (output) return false;
  const auto latest = session::find_session(session::roots(std::nullopt), "");
  std::error_code ignored;
  return std::holds_alternative<fs::path>(latest) && fs::equivalent(std::get<fs::path>(latest), folder, ignored);
}

fs::path choose_session(const std::optional<fs::path>& output, const std::string& wanted, Older older) {
  return taken(find_session(output, wanted, older));
}

LiveRun choose_run(const std::optional<fs::path>& output, const std::string& wanted) {
  const auto roots = session::roots_to_read(output);
  if (means_latest(wanted)) {
    if (const auto live = session::newest_live(roots)) return open_run(*live);
  }
  const auto found = find_session(output, wanted, Older::allowed);
  const bool is_missing = means_latest(wanted) && !session::obstacle_to_reading(roots);
  if (std::holds_alternative<base::Error>(found) && is_missing) {
    throw base::Error{
        "no run is in progress here, and no session was found",
        "start one with cudadiag run -- COMMAND; if you start it with -o FOLDER, use the same option here"};
  }
  return open_run(taken(found));
}

namespace {

using analyse::RerunWindow;
using base::Error;

// std::regex_search recurses once for each character, so a very long name could overflow the stack.
constexpr std::size_t kLongestName = 4096;
constexpr std::size_t kKernelColumns = 60;

// Returns "a, b and 3 more".
std::string first_of(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kMost ? fmt::format("{} and {} more", text, names.size() - kMost) : text;
}

Error not_recorded(const char* what, const std::vector<std::string>& recorded) {
  return {"no recorded operation matches", recorded.empty()
                                               ? "to see other ways to choose an operation: cudadiag bisect --help"
                                               : fmt::format("{}: {}", what, first_of(recorded))};
}

RerunWindow window_of_kernel(const session::Session& session, const std::string& pattern) {
  std::regex expression;
  try {
    expression = std::regex(pattern);
  } catch (const std::regex_error& error) {
    throw Error{"--kernel " + pattern + " is not a regular expression: " + error.what(), ""};
  }
  std::vector<std::string> recorded;
  const auto matches = [&](const session::Process& process, const session::Site& site) {
    const std::string* name = session::by_id(process.record.functions, site.function);
    if (name == nullptr) return false;
    const std::string written = base::demangle(*name);
    const std::string shown = diagnose::short_kernel_name(written, kKernelColumns);
    if (std::ranges::find(recorded, shown) == recorded.end()) recorded.push_back(shown);
    return std::regex_search(name->substr(0, kLongestName), expression) ||
           std::regex_search(written.substr(0, kLongestName), expression);
  };
  RerunWindow window = analyse::window_of_sites(session, matches);
  if (window.text.empty()) throw not_recorded("the recorded kernels are", recorded);
  return window;
}

// Returns the user's own lines that issued operations, in the form that --site takes. Lines of `file` come first, the
// nearest to `line` first.
std::vector<std::string> recorded_lines(const session::Session& session, symbolize::Symbolizer& symbolizer,
                                        const std::string& file, int line) {
  using Key = std::tuple<bool, int, std::string, int>;
  std::set<Key> lines;
  const std::string name = std::filesystem::path(file).filename().string();
  for (const session::Process& process : session.processes) {
    for (const session::Site& site : process.record.sites) {
      const std::string* kernel = session::by_id(process.record.functions, site.function);
      const symbolize::Location at =
          symbolizer.true_line(symbolizer.stack(process, site), kernel == nullptr ? "" : *kernel).location.nearest();
      if (!at.known()) continue;
      const bool elsewhere = std::filesystem::path(at.file).filename() != name;
      lines.insert({elsewhere, elsewhere ? 0 : std::abs(at.line - line), at.file, at.line});
    }
  }
  std::vector<std::string> texts;
  for (const auto& [elsewhere, distance, path, number] : lines) {
    const std::string shown = diagnose::relative_path(path, session.manifest.working_directory);
    texts.push_back(fmt::format("{}:{}", base::printable(shown), number));
  }
  return texts;
}

RerunWindow window_of_line(const session::Session& session, const std::string& place) {
  const std::size_t colon = place.rfind(':');
  int line = 0;
  if (colon != std::string::npos) std::from_chars(place.data() + colon + 1, place.data() + place.size(), line);
  if (line <= 0) throw Error{"--site " + place + " is not FILE:LINE", "use a form such as --site train.py:41"};
  const std::string file = place.substr(0, colon);
  const auto names = [&](const std::string& path, int at) {
    return at == line && (path == file || path.ends_with("/" + file));
  };
  symbolize::Symbolizer symbolizer(session);
  const auto leads_by_it = [&](const session::Process& process, const session::Site& site) {
    const symbolize::SourceStack stack = symbolizer.stack(process, site);
    return std::ranges::any_of(stack.python, [&](const auto& f) { return names(f.file, f.line); }) ||
           std::ranges::any_of(stack.native, [&](const auto& f) { return names(f.file, f.line); });
  };
  RerunWindow window = analyse::window_of_sites(session, leads_by_it);
  if (window.text.empty()) {
    throw not_recorded("the recorded lines are", recorded_lines(session, symbolizer, file, line));
  }
  return window;
}

// Returns the largest number of stream operations issued by one process; nullopt if a record is damaged.
std::optional<std::uint64_t> most_issued(const session::Session& session) {
  std::uint64_t most = 0;
  for (const session::Process& process : session.processes) {
    if (process.record.damaged > 0) return std::nullopt;
    std::uint64_t issued = process.record.dropped_operations;
    for (const session::Thread& thread : process.record.threads) issued += thread.operations;
    most = std::max(most, issued);
  }
  return most;
}

RerunWindow window_of_launch(const session::Session& session, std::uint64_t wanted) {
  for (const session::Process& process : session.processes) {
    const analyse::IssueOrder order(process.record);
    for (const session::Operation& operation : process.record.operations) {
      if (order.ordinal(operation) != wanted) continue;
      const auto key = analyse::SiteKeys(process.record).of_site(operation.site);
      return RerunWindow{fmt::format("{:x}@{}", key, std::max(operation.site_ordinal, 1u)),
                         fmt::format("launch {}", wanted)};
    }
  }
  if (const auto most = most_issued(session); most && wanted > *most) {
    const std::string number = diagnose::thousands(*most);
    throw Error{
        session.processes.size() > 1
            ? fmt::format("operation {} does not exist: no process of the run issued more than {}", wanted, number)
            : fmt::format("operation {} does not exist: the run issued only {}", wanted, number),
        "cudadiag dump lists the recorded operations"};
  }
  throw Error{fmt::format("operation {} was overwritten: the recording keeps only the latest operations", wanted),
              "choose it by its line (--site) or by its kernel (--kernel)"};
}

}  // namespace

std::optional<RerunWindow> chosen_window(const session::Session& session, const WindowChoice& choice) {
  if (!choice.launch && choice.kernel.empty() && choice.site.empty()) return std::nullopt;
  return choice.launch            ? window_of_launch(session, *choice.launch)
         : !choice.kernel.empty() ? window_of_kernel(session, choice.kernel)
                                  : window_of_line(session, choice.site);
}

std::string window_of_session(const std::string& name, const std::optional<std::filesystem::path>& output) {
  const fs::path folder = taken(session::find_session(session::roots_to_read(output), name));
  const session::Session session = taken(session::open_session(folder));
  // The window covers all calls on the suspects' lines, because nobody can predict which call of a long job will fail.
  auto window = analyse::rerun_window(diagnose::SessionState(session).analysis(), analyse::WindowReach::sites);
  if (window.text.empty()) {
    throw Error{"the session " + session.folder.string() + " has no suspects to wait for",
                "choose a session with an asynchronous failure from cudadiag list"};
  }
  return window.text;
}

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

// Truncates the row without splitting a multi-byte character.
std::string cut(std::string row, std::size_t columns) {
  if (row.size() <= columns) return row;
  std::size_t end = columns > 3 ? columns - 3 : 0;
  while (end > 0 && (static_cast<unsigned char>(row[end]) & 0xC0u) == 0x80u) --end;
  return row.substr(0, end) + "...";
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
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < kColumns; ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    line += row[kColumns];
    text += (columns ? cut(line, static_cast<std::size_t>(*columns)) : line) + "\n";
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
