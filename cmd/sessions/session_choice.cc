#include "sessions/session_choice.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <regex>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "analyse/site_keys.h"
#include "analyse/stream_history.h"
#include "base/text.h"
#include "command_line.h"
#include "diagnose/facts/kernel_name.h"
#include "diagnose/facts/place.h"
#include "diagnose/session_state.h"
#include "diagnose/words.h"
#include "session/session_folders.h"
#include "session/session_reader.h"
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
  const bool was_lost = lost && (!live || session::age_of(*live) < session::age_of(*lost));
  const auto& newer = was_lost ? lost : live;
  if (!newer || (folder != nullptr && session::age_of(*folder) >= session::age_of(*newer))) return "";
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

// If the user chose the first root by a variable, prints why its sessions are not used.
void print_skipped(const std::vector<session::Root>& roots, const fs::path& folder) {
  const bool is_chosen = roots.front().by_variable || std::getenv("XDG_STATE_HOME") != nullptr;
  std::error_code ignored;
  if (!is_chosen || fs::equivalent(roots.front().folder, folder.parent_path(), ignored)) return;
  const auto obstacle = session::obstacle_to_reading({roots.front()});
  if (obstacle) say(obstacle->what + "; using " + folder.string() + " instead");
}

bool means_latest(const std::string& wanted) { return wanted.empty() || wanted == session::kLatest; }

LiveRun open_run(const fs::path& folder) {
  auto opened = LiveRun::open(folder);
  if (const auto* killed = std::get_if<supervise::KilledRun>(&opened)) throw failure_of(*killed);
  if (auto* failure = std::get_if<base::Error>(&opened)) throw std::move(*failure);
  return std::move(std::get<LiveRun>(opened));
}

base::Result<fs::path> find_session(const std::optional<fs::path>& output, const std::string& wanted,
                                    const char* newest_for) {
  const auto roots = session::roots_to_read(output);
  auto found = session::find_session(roots, wanted);
  if (means_latest(wanted)) {
    const auto* folder = std::get_if<fs::path>(&found);
    const std::string newer = newer_run(roots, folder);
    if (!newer.empty() && folder != nullptr && newest_for != nullptr) {
      return base::Error{newer, fmt::format("to choose an older session instead: cudadiag {} {}", newest_for,
                                            diagnose::shell_word(folder->string()))};
    }
    if (!newer.empty()) say(folder == nullptr ? newer : newer + "; using " + folder->string() + " instead");
    print_unused(roots, found);
    if (folder != nullptr) print_skipped(roots, *folder);
  }
  return found;
}

}  // namespace

bool is_latest(const fs::path& folder, const std::optional<fs::path>& output) {
  if (output) return false;
  // A newer session that is unfinished, or whose launcher was killed, is read instead, or refused.
  const auto sessions = session::sessions_in(session::roots(std::nullopt));
  std::error_code ignored;
  return !sessions.empty() && fs::equivalent(sessions.front(), folder, ignored);
}

fs::path choose_session(const std::optional<fs::path>& output, const std::string& wanted, const char* newest_for) {
  return taken(find_session(output, wanted, newest_for));
}

LiveRun choose_run(const std::optional<fs::path>& output, const std::string& wanted) {
  const auto roots = session::roots_to_read(output);
  if (means_latest(wanted)) {
    if (const auto live = session::newest_live(roots)) return open_run(*live);
  }
  const auto found = find_session(output, wanted, nullptr);
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
  const std::string name = base::file_name(file);
  for (const session::Process& process : session.processes) {
    for (const session::Site& site : process.record.sites) {
      const std::string* kernel = session::by_id(process.record.functions, site.function);
      const symbolize::Location at =
          symbolizer.true_line(symbolizer.stack(process, site), kernel == nullptr ? "" : *kernel).location.nearest();
      if (!at.known()) continue;
      const bool elsewhere = base::file_name(at.file) != name;
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

// Each process numbers its own operations, and a rerun may start its processes in another order. The window therefore
// has the operations of all processes.
RerunWindow window_of_launch(const session::Session& session, std::uint64_t wanted) {
  std::map<wire::site_key::Key, std::uint32_t> calls;  // by site: the first call to wait for
  std::size_t processes = 0;
  for (const session::Process& process : session.processes) {
    const analyse::IssueOrder order(process.record);
    const auto& operations = process.record.operations;
    const auto found = std::ranges::find(operations, wanted, [&](const auto& each) { return order.ordinal(each); });
    if (found == operations.end()) continue;
    ++processes;
    const std::uint32_t call = std::max(found->site_ordinal, 1u);
    const auto [known, is_new] = calls.emplace(analyse::SiteKeys(process.record).of_site(found->site), call);
    if (!is_new) known->second = std::min(known->second, call);
  }
  std::string text;
  for (const auto& [key, call] : calls) text += fmt::format("{}{:x}@{}", text.empty() ? "" : ",", key, call);
  if (processes > 0) {
    return {text, fmt::format("launch {}{}", wanted, processes == 1 ? "" : fmt::format(" of {} processes", processes))};
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

}  // namespace cudadiag::command
