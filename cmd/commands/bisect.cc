// `cudadiag bisect`: reruns a recorded command until its failure is proven.
#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analyse/reruns.h"
#include "analyse/site_keys.h"
#include "analyse/stream_history.h"
#include "base/text.h"
#include "command_line.h"
#include "commands/commands.h"
#include "diagnose/facts/kernel_name.h"
#include "diagnose/facts/place.h"
#include "diagnose/session_state.h"
#include "diagnose/words.h"
#include "launch/isolation/isolation.h"
#include "launch/spawn.h"
#include "run/reruns.h"
#include "session/process_record.h"
#include "session/session_reader.h"
#include "session/session_trust.h"
#include "sessions/session_choice.h"
#include "shared_options.h"
#include "supervise/reruns/gpu_dumps.h"
#include "supervise/reruns/replays.h"
#include "supervise/reruns/rerun.h"
#include "supervise/reruns/rerun_policy.h"
#include "supervise/reruns/rerun_table.h"
#include "supervise/toolkit_programs.h"
#include "symbolize/source_file.h"
#include "symbolize/symbolizer.h"
#include "terminal.h"

namespace cudadiag::command {
namespace {

constexpr int kNotProven = 1;  // the exit status if the failure is not proven, or if it is unknown whether there is one

// The options that choose operations. The user can give only one of them.
struct WindowChoice {
  std::optional<std::uint64_t> launch;  // number of an operation
  std::string kernel;                   // regular expression
  std::string site;                     // FILE:LINE
};

struct BisectOptions {
  std::string session;
  std::vector<session::CodeRule> code_rules;
  std::vector<std::string> given, rerun_options;  // as in session::Manifest
  std::optional<std::filesystem::path> output;
  report::Verbosity verbosity = report::Verbosity::normal;
  supervise::RerunOptions rerun;
  std::optional<analyse::WindowReach> reach;
  WindowChoice window;
  bool isolated = false;  // rerun the program so that it cannot change anything outside the rerun
  bool foreign = false;   // run the command even if the session may belong to another user
};

using analyse::RerunWindow;
using base::Error;

std::string run_again(const session::Manifest& manifest, const std::vector<std::string>& words,
                      const std::string& directory) {
  std::string command = "to record the program again, with reruns: ";
  if (!directory.empty()) command += "cd " + diagnose::shell_word(directory) + " && ";
  return command + diagnose::record_command(manifest.options, words, false);
}

std::string command_line(const session::Manifest& manifest) {
  const std::string line = diagnose::shell_line(manifest.command);
  const std::string& directory = manifest.working_directory;
  return directory.empty() ? line : line + "  (in " + diagnose::shell_word(directory) + ")";
}

// A rerun executes the session's command with the user's rights, and another user may have written that command.
Error refusal(const session::Session& session, const std::string& why, const BisectOptions& options) {
  return {"not rerun, because the session may belong to another user: " + why +
              ". A rerun would execute: " + command_line(session.manifest),
          "if you trust the session, run: " + command_with(options.given, "--foreign", session.folder)};
}

// Explains why a session whose launcher did not finish cannot be rerun. Only the launcher has the program's full
// environment and input.
Error no_reruns_of(const session::Session& session) {
  const session::Manifest begun = session::open_running_manifest(session.folder);
  if (!begun.command.empty()) {
    const std::string loss = session.processes.empty() ? ", and the recording is lost" : "";
    return {"the cudadiag run that recorded this session was killed" + loss,
            run_again(begun, begun.command, begun.working_directory)};
  }
  const std::string why = "cudadiag run did not complete this session, so the full command is unknown";
  for (const session::Process& process : session.processes) {
    if (process.argv.empty()) continue;
    return {why, run_again(begun, process.argv, session::value_of(process.record, session::Property::cwd))};
  }
  return {why, "record the program again with cudadiag run"};
}

// Returns the names of the options that could still add evidence in a rerun.
std::string more_to_ask_for(const session::Session& session, diagnose::SessionState& state) {
  using supervise::RerunOptions;
  using supervise::Task;
  struct Request {
    const char* name;
    bool RerunOptions::*option;
    Task task;
  };
  constexpr Request kRequests[] = {{"--sanitize", &RerunOptions::sanitize, Task::sanitize},
                                   {"--cross-check", &RerunOptions::cross_check, Task::cross_check},
                                   {"--save-launch", &RerunOptions::save_launch, Task::save_launch},
                                   {"--save-inputs", &RerunOptions::save_inputs, Task::replay_saved_call},
                                   {"--origin", &RerunOptions::origin, Task::trace_origin}};
  std::string names;
  for (const Request& request : kRequests) {
    supervise::RerunPlan plan;
    plan.options.*request.option = true;
    const auto known = supervise::known(session, state, plan);
    if (request.task == Task::save_launch && supervise::has_saved_launch(session)) continue;
    if (std::ranges::any_of(supervise::passes(), [&](const supervise::PassRow& row) {
          return row.task == request.task && is_wanted(row, known);
        })) {
      names += (names.empty() ? "" : ", ") + std::string(request.name);
    }
  }
  return names;
}

std::string nothing_to_narrow(const session::Session& session, diagnose::SessionState& state) {
  const analyse::Analysis& analysis = state.analysis();
  const bool proven = !analysis.failures.empty() && analysis.failures.front().evidence.proves();
  if (!proven) {
    if (!analysis.failures.empty() && analysis.failures.front().kind == analyse::Kind::hang) {
      return session.manifest.hang ? "a rerun would add nothing: the session has a GPU core dump of the hang"
                                   : "a rerun would add nothing: it is only of use if --hang-after ended the first run";
    }
    if (session.processes.empty()) return "a rerun would add nothing: no recording of a process could be read";
    const bool pending = std::ranges::any_of(
        analysis.notes, [](const analyse::Note& note) { return note.code == analyse::NoteCode::killed_at_work; });
    if (pending) return "no GPU work is known to have failed; to wait for all of it: cudadiag bisect --window all";
    return "a rerun would add nothing: this session has no failed GPU work, and no race for which a rerun could name "
           "the tensors";
  }
  const std::string more = more_to_ask_for(session, state);
  return "a rerun would add nothing: the failure is already proven" +
         (more.empty() ? "" : "; for more evidence, use: " + more);
}

// `possible`: another rerun is possible, so the report may suggest one.
void print_report(diagnose::SessionState& state, const BisectOptions& options, bool possible = true) {
  report::TextOptions shown = text_options(options.verbosity, STDOUT_FILENO);
  shown.suggest_rerun = possible;
  shown.say_clean = true;
  shown.is_latest = is_latest(state.session().folder, options.output);
  print(report::write_text(state.diagnosis(), shown));
}

// Returns the exit status. No rerun proves a hang. It is shown if a GPU core dump has the line of its kernel.
int status_of(diagnose::SessionState& state) {
  const bool open = std::ranges::any_of(state.diagnosis().findings, [](const diagnose::Finding& finding) {
    if (finding.kind == analyse::Kind::hang) return !finding.device;
    return analyse::is_asynchronous(finding.kind) && !finding.evidence.proves();
  });
  return open || state.diagnosis().verdict == analyse::Verdict::inconclusive ? kNotProven : 0;
}

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
        "cudadiag dump " + diagnose::shell_word(session.folder.string()) + " lists the recorded operations"};
  }
  throw Error{fmt::format("operation {} was overwritten: the recording keeps only the latest operations", wanted),
              "choose it by its line (--site) or by its kernel (--kernel)"};
}

// Returns nullopt if the user chose no operations. The analysis then chooses them.
std::optional<RerunWindow> chosen_window(const session::Session& session, const WindowChoice& choice) {
  if (!choice.launch && choice.kernel.empty() && choice.site.empty()) return std::nullopt;
  return choice.launch            ? window_of_launch(session, *choice.launch)
         : !choice.kernel.empty() ? window_of_kernel(session, choice.kernel)
                                  : window_of_line(session, choice.site);
}

// Opens the session that the options refer to.
session::Session open_recorded(const BisectOptions& options) {
  // The command of an older session may be a different one.
  const std::filesystem::path folder = choose_session(options.output, options.session, "bisect");
  if (session::run_goes_on(folder)) {
    const std::string name = diagnose::shell_word(session::finished_name(folder).string());
    throw Error{"the run of this session has not ended",
                "to see its state: cudadiag status " + name + "; once it has ended, run: cudadiag bisect " + name};
  }
  session::Session session = taken(session::open_session(folder));
  if (const auto unknown = add_rules(options.code_rules, session)) throw *unknown;
  return session;
}

// Throws the reason if the session's command cannot or must not be rerun here as the options request.
void check_rerun(const session::Session& session, const BisectOptions& options) {
  if (session.manifest.command.empty()) throw no_reruns_of(session);
  if (const std::string why = options.foreign ? "" : session::why_foreign(session); !why.empty()) {
    throw refusal(session, why, options);
  }
  if (const auto exposed = session::exposed_folder(session)) {
    throw Error{"not rerun, because another user can rename entries of " + exposed->string() +
                    " and so replace the session's folder",
                "record the command again in a folder that only you can write to: cudadiag run -o FOLDER -- COMMAND"};
  }
  if (session.manifest.working_directory.empty() && !options.isolated) {
    throw Error{"not rerun, because the folder in which the command ran had been removed before it started",
                "change to a folder that exists, and run it in isolation: " +
                    command_with(options.given, diagnose::kIsolated, session.folder)};
  }
  if (const std::string name = diagnose::descriptor_in(session.manifest.command); !name.empty()) {
    throw Error{"not rerun, because the command reads " + name + ", which only the first run had",
                "record the command again with a file in its place"};
  }
  if (options.rerun.sanitize && supervise::find_sanitizer().empty()) {
    throw Error{"compute-sanitizer is not installed here, so nothing was rerun",
                "install the CUDA Toolkit; to see the command for another machine: cudadiag report " +
                    diagnose::shell_word(session.folder.string()) + " -v"};
  }
  if (const auto missing = options.isolated ? launch::missing_isolation() : std::nullopt) {
    throw Error{"this system cannot isolate a rerun (" + *missing + "), so nothing was rerun",
                "to rerun the command without isolation, so that it can write files: " +
                    diagnose::bisect_command(session.folder.string(), session.manifest.input_read,
                                             session.manifest.rerun_options)};
  }
}

int rerun(session::Session& session, diagnose::SessionState& state, supervise::RerunPlan plan,
          const BisectOptions& options) {
  const launch::Input input;
  // A program that reads different input may behave differently, so its rerun would prove nothing.
  if (session.manifest.input_read && !input.is_lasting()) {
    throw Error{"the command read its standard input, so a rerun needs the same input from a file",
                "run: " + diagnose::bisect_command(session.folder.string(), true, session.manifest.rerun_options,
                                                   options.isolated ? diagnose::kIsolated : "")};
  }
  session::SessionWriter writer = taken(session::SessionWriter::reopen(session.folder));
  launch::SignalRelay relay;
  launch::ignore_signal_here(SIGXFSZ);
  const char* how =
      plan.isolated ? "in isolation, so it changes no files: " : "without isolation, so it can write files: ";
  const std::string& directory = session.manifest.working_directory;
  std::error_code error;
  // Without the folder, the rerun fails to start, and says so.
  if (directory.empty() || std::filesystem::is_directory(directory, error)) {
    say(std::string("running the command again ") + how + command_line(session.manifest));
  }
  if (supervise::may_end_other_programs(session)) say(kMpsWarning);
  if (session.manifest.ranks > 1) {
    say("the first run was one rank of a job, whose other ranks this rerun does not start");
  }
  if (const auto edited = symbolize::rewritten_files(session); !edited.empty()) {
    say(edited.front() + (edited.size() == 1 ? "" : fmt::format(" and {} more files", edited.size() - 1)) +
        " changed after the first run, so a rerun cannot prove what failed in that run");
  }
  plan.input = input.obstacle().empty() ? &input : nullptr;
  RerunMessages messages(session, options.verbosity != report::Verbosity::quiet);
  const bool possible = supervise::run_reruns(session, state, writer, relay, plan, messages);
  print_report(state, options, possible);
  if (!options.rerun.keep_core) supervise::drop_large_dumps(session, writer);
  if (const int signal = launch::ending_signal(); signal != 0) return kSignalled + signal;
  if (!possible) return kOwnFailure;
  return status_of(state);
}

int carry_out(const BisectOptions& options) {
  session::Session session = open_recorded(options);
  session.manifest.rerun_options = options.rerun_options;
  check_rerun(session, options);
  supervise::RerunPlan plan{options.rerun};
  plan.isolated = options.isolated;
  plan.reach = options.reach;
  plan.window = chosen_window(session, options.window);
  diagnose::SessionState state(session);
  const supervise::Known known = supervise::known(session, state, plan);
  if (supervise::wants_reruns(known)) return rerun(session, state, plan, options);
  for (const auto reason : supervise::reasons_against(known)) say(sentence(reason));
  say(nothing_to_narrow(session, state));
  print_report(state, options);
  return status_of(state);
}

void add_windows(CLI::App* command, BisectOptions& bisect) {
  const Words<analyse::WindowReach> reaches = {{"calls", analyse::WindowReach::calls},
                                               {"sites", analyse::WindowReach::sites},
                                               {"all", analyse::WindowReach::everything}};
  const std::vector<CLI::Option*> windows = {
      add_word(command, "--window", bisect.reach, reaches,
               "wait for the suspects' calls, all calls on their lines, or every operation"),
      add_number(command, "--launch", bisect.window.launch,
                 NumberRange<std::uint64_t>{std::uint64_t{1}, UINT64_MAX, "number of at least 1"}, "N",
                 "wait for the operation with this number in each process of the first run"),
      add_text(command, "--kernel", bisect.window.kernel, "REGEX",
               "wait for kernels whose name this regular expression matches"),
      add_text(command, "--site", bisect.window.site, "FILE:LINE", "wait for operations issued from this line")
          ->check(a_line())};
  for (std::size_t i = 0; i < windows.size(); ++i) {
    windows[i]->group("What to wait for (at most one)");
    for (std::size_t other = 0; other < i; ++other) windows[i]->excludes(windows[other]);
  }
}

}  // namespace

void add_bisect(CLI::App& app, int& status) {
  auto bisect = std::make_shared<BisectOptions>();
  bisect->rerun.hang_dump = true;
  auto* command = app.add_subcommand("bisect", "rerun a recorded command until its failure is proven");
  add_input(command, bisect->session, bisect->output);
  add_verbosity(command, bisect->verbosity);
  add_foreign(command, bisect->foreign, "also run the command of a session from another user or host");
  command->add_flag("--isolated", bisect->isolated, "keep the reruns from changing files and reaching other programs");
  add_reruns(command, bisect->rerun, true);
  add_code_rules(command);
  add_windows(command, *bisect);
  group(command, CLI::OptionDefaults().get_group(), {"--repeat", "--time-limit", "--show-rerun", "--sanitize"});
  group(command, "More evidence from reruns", {"--foreign"});
  name_page(command);
  command->callback([bisect, &status, command] {
    bisect->code_rules = code_rules(*command);
    bisect->given = given_options(*command, false);
    bisect->rerun_options = given_options(*command, true);
    status = carry_out(*bisect);
  });
}

}  // namespace cudadiag::command
