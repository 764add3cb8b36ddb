// `cudadiag bisect`: reruns a recorded command until its failure is proven.
#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <regex>
#include <set>
#include <tuple>

#include "analyse/record_horizon.h"
#include "analyse/site_keys.h"
#include "base/demangle.h"
#include "base/printable.h"
#include "commands/commands.h"
#include "diagnose/facts/place.h"
#include "diagnose/kernel_name.h"
#include "diagnose/words.h"
#include "launch/isolation/isolation.h"
#include "options/code_rules.h"
#include "options/command_line.h"
#include "options/shared_options.h"
#include "run/rerun_speech.h"
#include "session/ownership.h"
#include "session/property.h"
#include "session/session_reader.h"
#include "sessions/findings.h"
#include "sessions/session_choice.h"
#include "supervise/reruns/device_pass.h"
#include "supervise/reruns/rerun_needs.h"
#include "supervise/reruns/rerun_sequence.h"
#include "supervise/tools/external_tools.h"
#include "symbolize/symbolizer.h"
#include "terminal/terminal.h"

namespace cudadiag::command {
namespace {

struct BisectOptions {
  std::string session;
  std::vector<session::CodeRule> code_rules;
  std::optional<std::string> output;
  report::Verbosity verbosity = report::Verbosity::normal;
  supervise::RerunOptions rerun;
  std::optional<analyse::Reach> reach;
  // Each of these options chooses the operations that the rerun waits for.
  std::optional<std::uint64_t> launch;
  std::string kernel, site;
  bool isolated = false;  // rerun the program so that it cannot change anything outside the rerun
  bool foreign = false;   // run the command even if the session may belong to another user
};

// std::regex_search recurses once for each character, so a very long name could overflow the stack.
constexpr std::size_t kLongestName = 4096;
constexpr std::size_t kKernelColumns = 60;

using analyse::RerunWindow;
using base::Error;
using base::Result;

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

Result<RerunWindow> window_of_kernel(const session::Session& session, const std::string& pattern) {
  std::regex expression;
  try {
    expression = std::regex(pattern);
  } catch (const std::regex_error& error) {
    return Error{"--kernel " + pattern + " is not a regular expression: " + error.what(), ""};
  }
  std::vector<std::string> recorded;
  const auto matches = [&](const session::Process& process, const session::Site& site) {
    const std::string* name = session::by_id(process.record.functions, site.function);
    if (name == nullptr) return false;
    const std::string written = base::demangle(*name);
    const std::string shown = diagnose::short_kernel_name(written, kKernelColumns);
    if (std::find(recorded.begin(), recorded.end(), shown) == recorded.end()) recorded.push_back(shown);
    return std::regex_search(name->substr(0, kLongestName), expression) ||
           std::regex_search(written.substr(0, kLongestName), expression);
  };
  RerunWindow window = analyse::window_of_sites(session, matches);
  if (window.text.empty()) return not_recorded("the recorded kernels are", recorded);
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

Result<RerunWindow> window_of_line(const session::Session& session, const std::string& place) {
  const std::size_t colon = place.rfind(':');
  int line = 0;
  if (colon != std::string::npos) std::from_chars(place.data() + colon + 1, place.data() + place.size(), line);
  if (line <= 0) return Error{"--site " + place + " is not FILE:LINE", "use a form such as --site train.py:41"};
  const std::string file = place.substr(0, colon);
  const auto names = [&](const std::string& path, int at) {
    return at == line && (path == file || path.ends_with("/" + file));
  };
  symbolize::Symbolizer symbolizer(session);
  const auto leads_by_it = [&](const session::Process& process, const session::Site& site) {
    const symbolize::SourceStack stack = symbolizer.stack(process, site);
    return std::any_of(stack.python.begin(), stack.python.end(),
                       [&](const auto& f) { return names(f.file, f.line); }) ||
           std::any_of(stack.native.begin(), stack.native.end(), [&](const auto& f) { return names(f.file, f.line); });
  };
  RerunWindow window = analyse::window_of_sites(session, leads_by_it);
  if (window.text.empty()) {
    return not_recorded("the recorded lines are", recorded_lines(session, symbolizer, file, line));
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

Result<RerunWindow> window_of_launch(const session::Session& session, std::uint64_t wanted) {
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
    const char* who = session.processes.size() > 1 ? "no process of the run issued more than" : "the run issued only";
    return Error{fmt::format("operation {} does not exist: {} {}", wanted, who, diagnose::thousands(*most)),
                 "cudadiag dump lists the recorded operations"};
  }
  return Error{fmt::format("operation {} was overwritten: the recording keeps only the latest operations", wanted),
               "choose it by its line (--site) or by its kernel (--kernel)"};
}

// Returns nullopt if the user chose no window. The analysis then chooses one.
Result<std::optional<RerunWindow>> window_by_hand(const session::Session& session, const BisectOptions& options) {
  Result<RerunWindow> window;
  if (options.launch) {
    window = window_of_launch(session, *options.launch);
  } else if (!options.kernel.empty()) {
    window = window_of_kernel(session, options.kernel);
  } else if (!options.site.empty()) {
    window = window_of_line(session, options.site);
  } else {
    return std::nullopt;
  }
  if (auto* failure = std::get_if<Error>(&window)) return *failure;
  return std::move(std::get<RerunWindow>(window));
}

std::string run_again(const std::vector<std::string>& words, const std::string& directory) {
  std::string command = "to record the program again, with reruns: ";
  if (!directory.empty()) command += "cd " + diagnose::shell_word(directory) + " && ";
  return command + "cudadiag run -- " + diagnose::shell_line(words);
}

std::string command_line(const session::Manifest& manifest) {
  const std::string line = diagnose::shell_line(manifest.command);
  const std::string& directory = manifest.working_directory;
  return directory.empty() ? line : line + "  (in " + diagnose::shell_word(directory) + ")";
}

// A rerun executes the session's command with the user's rights, and another user may have written that command.
Error refusal(const session::Session& session, const std::string& why) {
  return {"not rerun, because the session may belong to another user: " + why +
              ". A rerun would execute: " + command_line(session.manifest),
          "if you trust the session, run: cudadiag bisect --foreign " + diagnose::shell_word(session.folder.string())};
}

// Explains why a session whose launcher did not finish cannot be rerun. Only the launcher has the program's full
// environment and input.
std::string no_reruns_of(const session::Session& session) {
  const session::Manifest begun = session::open_running_manifest(session.folder);
  if (!begun.command.empty()) {
    const std::string loss = session.processes.empty() ? ", and the recording is lost" : "";
    return "the cudadiag run that recorded this session was killed" + loss + "; " +
           run_again(begun.command, begun.working_directory);
  }
  const std::string why = "cudadiag run did not complete this session, so the full command is unknown; ";
  for (const session::Process& process : session.processes) {
    if (process.argv.empty()) continue;
    return why + run_again(process.argv, session::value_of(process.record, session::Property::cwd));
  }
  return why + "record the program again with cudadiag run";
}

// Returns the names of the options that could still add evidence in a rerun.
std::string more_to_ask_for(const analyse::Analysis& analysis, const session::Manifest& manifest) {
  constexpr std::pair<const char*, bool supervise::RerunOptions::*> kOptions[] = {
      {"--sanitize", &supervise::RerunOptions::sanitize},
      {"--cross-check", &supervise::RerunOptions::cross_check},
      {"--save-launch", &supervise::RerunOptions::save_launch},
      {"--save-inputs", &supervise::RerunOptions::save_inputs},
      {"--origin", &supervise::RerunOptions::origin}};
  std::string names;
  for (const auto& [name, option] : kOptions) {
    supervise::RerunOptions only;
    only.device = only.values = false;
    only.*option = true;
    if (supervise::wants_reruns(analysis, manifest, only)) names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names;
}

std::string nothing_to_narrow(const session::Session& session, const analyse::Analysis& analysis, bool cross_check) {
  const bool proven = !analysis.failures.empty() && analysis.failures.front().grade == analyse::Grade::proven;
  if (!proven) {
    return "a rerun would add nothing: this session has no failed GPU work, and no race for which a rerun could name "
           "the tensors";
  }
  std::string text = "a rerun would add nothing: the failure is already proven";
  if (const auto obstacle = supervise::obstacle_to_cross_check(session.manifest); cross_check && obstacle) {
    text += "; " + sentence(*obstacle);
  }
  const std::string more = more_to_ask_for(analysis, session.manifest);
  return more.empty() ? text : text + "; for more evidence, use: " + more;
}

// `possible`: another rerun is possible, so the report may suggest one.
void print_report(diagnose::SessionState& state, report::Verbosity verbosity, bool possible = true) {
  report::TextOptions options = text_options(verbosity, STDOUT_FILENO);
  options.suggest_rerun = possible;
  options.say_clean = true;
  const std::string text = report::write_text(state.diagnosis(), options);
  print(text);
}

int carry_out(const BisectOptions& options) {
  // The command of an older session may be a different one.
  const auto folder = choose_session(options.output, options.session, Older::refused);
  if (const auto* failure = std::get_if<Error>(&folder)) return say(*failure), kOwnFailure;
  if (const auto& found = std::get<std::filesystem::path>(folder); session::run_goes_on(found)) {
    const std::string name = diagnose::shell_word(session::finished_name(found).string());
    return say("the run of this session has not ended; to see its state: cudadiag status " + name +
               "; once it has ended, run: cudadiag bisect " + name),
           kOwnFailure;
  }
  auto opened = session::open_session(std::get<std::filesystem::path>(folder));
  if (const auto* failure = std::get_if<Error>(&opened)) return say(*failure), kOwnFailure;
  auto& session = std::get<session::Session>(opened);
  if (const auto unknown = add_rules(options.code_rules, session)) return say(*unknown), kOwnFailure;
  if (session.manifest.command.empty()) {
    say(no_reruns_of(session));
    return kOwnFailure;
  }
  if (const std::string why = options.foreign ? "" : session::why_foreign(session); !why.empty()) {
    return say(refusal(session, why)), kOwnFailure;
  }
  if (options.rerun.sanitize && supervise::find_sanitizer().empty()) {
    return say(Error{"compute-sanitizer is not installed here, so nothing was rerun",
                     "install the CUDA Toolkit; to see the command for another machine: cudadiag report -v"}),
           kOwnFailure;
  }
  if (const auto missing = options.isolated ? launch::missing_isolation() : std::nullopt) {
    return say(Error{"this system cannot isolate a rerun (" + *missing + "), so nothing was rerun",
                     "to rerun the command without isolation, so that it can write files: " +
                         diagnose::bisect_command(session.folder.string(), session.manifest.input_read)}),
           kOwnFailure;
  }
  auto window = window_by_hand(session, options);
  if (const auto* failure = std::get_if<Error>(&window)) return say(*failure), kOwnFailure;
  supervise::RerunPlan plan{options.rerun};
  plan.isolated = options.isolated;
  plan.window = std::get<std::optional<RerunWindow>>(window);
  // The user may want a rerun even if nothing failed: waiting for every operation can change how the program behaves.
  const bool asked_for = plan.window || options.reach == analyse::Reach::everything;
  diagnose::SessionState state(session);
  if (!asked_for && !supervise::wants_races(session) &&
      !supervise::wants_reruns(state.analysis(), session.manifest, options.rerun)) {
    say(nothing_to_narrow(session, state.analysis(), options.rerun.cross_check));
  } else {
    const launch::Input input;
    // A program that reads different input may behave differently, so its rerun would prove nothing.
    if (session.manifest.input_read && !input.is_lasting()) {
      return say(Error{"the command read its standard input, so a rerun needs the same input from a file",
                       "run: " + diagnose::bisect_command(session.folder.string(), true,
                                                          options.isolated ? diagnose::kIsolated : "")}),
             kOwnFailure;
    }
    auto writer = session::SessionWriter::reopen(session.folder);
    if (const auto* failure = std::get_if<Error>(&writer)) return say(*failure), kOwnFailure;
    launch::SignalRelay relay;
    launch::ignore_signal_here(SIGXFSZ);
    plan.reach = options.reach;
    const char* how =
        plan.isolated ? "in isolation, so it cannot write files: " : "without isolation, so it can write files: ";
    say(std::string("running the command again ") + how + command_line(session.manifest));
    plan.input = input.obstacle().empty() ? &input : nullptr;
    RerunSpeech speech(options.verbosity != report::Verbosity::quiet);
    const bool possible =
        supervise::run_reruns(session, state, std::get<session::SessionWriter>(writer), relay, plan, speech);
    print_report(state, options.verbosity, possible);
    if (!options.rerun.keep_core) supervise::drop_large_dumps(session, std::get<session::SessionWriter>(writer));
    if (const int signal = launch::ending_signal(); signal != 0) return kSignalled + signal;
    return possible ? 0 : kOwnFailure;
  }
  print_report(state, options.verbosity);
  return 0;
}

void add_windows(CLI::App* command, BisectOptions& bisect) {
  const Words<analyse::Reach> reaches = {
      {"calls", analyse::Reach::calls}, {"sites", analyse::Reach::sites}, {"all", analyse::Reach::everything}};
  const std::vector<CLI::Option*> windows = {
      add_word(command, "--window", bisect.reach, reaches,
               "wait for the suspects' calls, all calls on their lines, or every operation"),
      add_number(command, "--launch", bisect.launch,
                 NumberRange<std::uint64_t>{std::uint64_t{1}, UINT64_MAX, "number of at least 1"}, "N",
                 "wait for the operation with this number in the first run"),
      add_text(command, "--kernel", bisect.kernel, "REGEX",
               "wait for kernels whose name this regular expression matches"),
      add_text(command, "--site", bisect.site, "FILE:LINE", "wait for operations issued from this line")
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
  command->add_flag("--isolated", bisect->isolated, "keep the reruns from writing files and reaching other programs");
  add_reruns(command, bisect->rerun);
  command->add_flag("--origin", bisect->rerun.origin, "trace the bad value of a PyTorch operator back to its origin")
      ->excludes(command->get_option("--no-values"))
      ->group("More evidence from reruns");
  add_code_rules(command);
  add_windows(command, *bisect);
  name_page(command);
  command->callback([bisect, &status, command] {
    bisect->code_rules = code_rules(*command);
    status = carry_out(*bisect);
  });
}

}  // namespace cudadiag::command
