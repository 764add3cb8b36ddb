// Reruns a recorded command until its failure is proven, or reruns can add nothing more. Chooses the window of each
// rerun.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>
#include <utility>

#include "analyse/reruns.h"
#include "launch/isolation/overlays.h"
#include "session/session_folders.h"
#include "session/session_reader.h"
#include "supervise/created_files.h"
#include "supervise/hook_config.h"
#include "supervise/recording.h"
#include "supervise/reruns/replays.h"
#include "supervise/reruns/rerun.h"
#include "supervise/reruns/rerun_table.h"
#include "supervise/toolkit_programs.h"
#include "symbolize/tool_results.h"

namespace cudadiag::supervise {
namespace {

using analyse::Analysis;
using analyse::WindowReach;
using session::PassKind;
using Outcome = analyse::Rerun::Outcome;
using Problem = RerunProblem::Kind;

constexpr double kSlowest = 3;  // how long a rerun may take, relative to the first run
constexpr double kSlowestSanitized = 30;
constexpr double kStartSeconds = 30;                       // additional seconds for every rerun
constexpr double kValuesSeconds = 10, kValuesShare = 0.2;  // reading values: seconds, or share of the first run if more
constexpr double kOriginSeconds = 20, kOriginShare = 4;    // likewise, for tracing bad values
// The driver creates the file of a core dump only seconds after the failure: 5 to 6 s for a kernel that fills an H200.
constexpr double kPatienceForDump = 3;
constexpr double kQuietSeconds = 5;    // seconds without any operation that are always allowed
constexpr double kSavingSeconds = 60;  // additional seconds if the failing call is saved

std::uint64_t operations_of(const session::Session& session) {
  std::uint64_t operations = 0;
  for (const session::Process& process : session.processes) {
    for (const session::Thread& thread : process.record.threads) operations += thread.operations;
  }
  return operations;
}

std::chrono::milliseconds in_milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

class RerunSequence {
 public:
  RerunSequence(session::Session& session, diagnose::SessionState& state, session::SessionWriter& writer,
                launch::SignalRelay& relay, const RerunPlan& plan, RerunListener& listener)
      : session_(session),
        state_(state),
        writer_(writer),
        relay_(relay),
        plan_(plan),
        options_(plan.options),
        listener_(listener),
        since_(read_since(writer.folder() / session.manifest.passes.front().folder / session::kCreatedFile)) {
    hides_ = plan.isolated && options_.write_limit != 0 && launch::entry_to_overlays() != launch::Entry::refused;
    if (hides_) limit_what_is_hidden();
    if (!hides_) hide_nothing();
  }

  bool run() {
    for (const PassRow& row : passes()) {
      if (!row.waits_for_others) explain(row);
    }
    for (const PassRow& row : passes()) {
      if (interrupted_ || (row.runs != nullptr && !continues())) continue;
      is_wanted(row, known(session_, state_, plan_)) ? start(row.task) : explain(row);
    }
    writer_.drop_passing_launches();
    return possible_;
  }

 private:
  const Analysis& analysis() { return state_.analysis(); }

  // If an option requests a pass that can add nothing, says why, once.
  void explain(const PassRow& row) {
    const auto reason = why_unwanted(row, known(session_, state_, plan_));
    if (reason && explained_.insert(row.task).second) listener_.cannot({*reason});
  }

  // The names are arguments of another process, whose number and length are limited.
  void limit_what_is_hidden() {
    constexpr std::size_t kMost = 64 << 10;
    std::size_t bytes = 0;
    for (const auto& path : since_.made) bytes += path.native().size();
    if (bytes <= kMost) return;
    hide_nothing();
    session_.manifest.notes.push_back("reruns saw everything, because the first run created too many files to hide");
  }

  // Lets the reruns see what the first run created. The user who requests one without isolation knows that it does.
  void hide_nothing() {
    if (plan_.isolated) seen_.insert(seen_.end(), since_.made.begin(), since_.made.end());
    since_.made.clear();
  }

  // Notes what the latest rerun saw otherwise than the first run did.
  void note_beginning(RerunResult& result) {
    std::erase_if(since_.made, [&](const auto& path) { return std::ranges::count(result.not_hidden, path) > 0; });
    seen_.insert(seen_.end(), result.not_hidden.begin(), result.not_hidden.end());
    FolderSnapshot::Since all = since_;
    all.changed.insert(all.changed.end(), seen_.begin(), seen_.end());
    for (const auto& path : otherwise(all)) result.pass.otherwise.push_back(path.string());
    if (!hides_) return;
    std::vector<std::string>& notes = session_.manifest.notes;
    std::erase(notes, note_);
    note_ = note_on_beginning(since_, session_.manifest.working_directory);
    if (!note_.empty() && std::ranges::count(notes, note_) == 0) notes.push_back(note_);
  }

  void start(Task task) {
    switch (task) {
      case Task::confirm:
        return confirm();
      case Task::save_launch:
        return save_launch();
      case Task::ask_allocator:
        return ask_allocator();
      case Task::trace_origin:
        return trace_origin();
      case Task::replay_saved_call:
        return replay_saved_call();
      case Task::find_racing_tensors:
        return find_racing_tensors();
      case Task::run_eagerly:
        return run_eagerly();
      case Task::get_dump:
        return get_dump();
      case Task::get_hang_dump:
        return get_hang_dump();
      case Task::find_address:
        return find_address();
      case Task::cross_check:
        return cross_check();
      case Task::sanitize:
        return sanitize();
      case Task::replay_launch:
        return replay_launch();
    }
  }

  // If isolation kept a rerun from reproducing the failure, or it issued nothing until its limit, further reruns cannot
  // reproduce it either. A process that could not be killed would disturb them.
  bool continues() const { return possible_ && !interrupted_ && !futile_ && !any_left_; }

  void confirm() {
    WindowSequence windows(plan_);
    const Known now = known(session_, state_, plan_);
    bool dumps = confirms_with_dump(now), traces = confirms_with_origin(now), saves = confirms_with_launch(now);
    while (const auto step = windows.next(analysis())) {
      if (!wait_in(*step, dumps, traces, dumps && std::exchange(saves, false))) return;
      const Outcome outcome = analysis().reruns.back().outcome;
      // The search for the value may be why the program behaved differently.
      if (std::exchange(traces, false) && outcome != Outcome::proven && outcome != Outcome::kept_from) continue;
      // The program may not start with the preloaded library, or the driver may crash while it writes the dump.
      const bool prevented = outcome == Outcome::not_reached || outcome == Outcome::not_recorded;
      if (!std::exchange(dumps, false) || !prevented) windows.note(analysis().reruns.back());
    }
  }

  void set_window(RerunSpec& spec, const analyse::RerunWindow& window) const {
    spec.window = with_patience(window.text, options_.patience);
    spec.waits = window.words;
  }

  void save_for_reruns(RerunSpec& spec, unsigned limit) const {
    spec.save_limit = std::min(options_.save_limit, limit);
    spec.drops_launch = true;
  }

  // Returns false if no more reruns are possible.
  bool wait_in(const WindowStep& step, bool dumps, bool traces, bool saves) {
    RerunSpec spec = spec_of(PassKind::confirm);
    spec.dumps = dumps;
    if (saves) save_for_reruns(spec, kSavedWhileConfirming);
    const auto window = traces ? analyse::rerun_window(analysis(), WindowReach::calls, true) : step.window;
    const double patience = dumps ? kPatienceForDump * options_.patience : options_.patience;
    spec.window = with_patience(window.text, patience);
    if (spec.quiet_limit > 0) spec.quiet_limit += patience - options_.patience;
    if (traces) add_tracing(spec);
    spec.waits = step.window.words;
    spec.without_values = step.without_values;
    if (options_.values && !step.without_values) {
      spec.values = suspect_lines(session_, analysis(), seconds_for_values(), options_.saved_bytes());
    }
    return add(spec) && !interrupted_ && !any_left_;
  }

  void save_launch() {
    RerunSpec spec = spec_of(PassKind::launch);
    set_window(spec, analyse::launch_window(analysis()));
    spec.save_limit = options_.save_limit;
    if (!options_.time_limit) spec.time_limit += kSavingSeconds;
    if (spec.quiet_limit > 0) spec.quiet_limit += kSavingSeconds;
    add(spec);
  }

  // Follows the device pass, which finds the failing instruction. What the confirming rerun needed to save the launch
  // does not count.
  void find_address() {
    const auto began = std::chrono::steady_clock::now();
    if (!has_saved_launch(session_)) {
      const auto window = analyse::launch_window(analysis());
      if (window.text.empty()) return;
      RerunSpec spec = spec_of(PassKind::launch);
      set_window(spec, window);
      save_for_reruns(spec, kSavedForAddress);
      spec.time_limit = std::min(spec.time_limit, kSecondsForAddress - kSecondsToReplay);
      if (!add_once(spec) || interrupted_ || any_left_) return;
    }
    const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    const double rest = std::max(1.0, kSecondsForAddress - spent);
    const auto limit = in_milliseconds(options_.save_launch ? kSavingSeconds : rest);
    const auto problem = supervise::find_address(session_, state_, writer_, relay_, limit, listener_);
    if (problem) listener_.cannot(*problem);
  }

  void replay_launch() {
    if (const auto problem = try_saved_launch(session_, state_, writer_, relay_)) listener_.cannot(*problem);
  }

  void ask_allocator() {
    RerunSpec spec = spec_of(PassKind::memory);
    spec.values = fmt::format("{:.1f}\t0\n0\t0\tmemory\t\t", seconds_for_values());
    add(spec);
  }

  void trace_origin() {
    RerunSpec spec = spec_of(PassKind::origin);
    add_tracing(spec);
    add(spec);
  }

  void add_tracing(RerunSpec& spec) const {
    spec.seconds_for_tracing = std::max(kOriginSeconds, kOriginShare * expected_seconds(session_));
    if (!options_.time_limit) spec.time_limit += spec.seconds_for_tracing;
    if (spec.quiet_limit > 0) spec.quiet_limit += spec.seconds_for_tracing;
  }

  void replay_saved_call() {
    const auto patience = in_milliseconds(spec_of(PassKind::confirm).time_limit);
    const auto problem = replay(session_, writer_, analysis(), patience, relay_);
    if (problem) listener_.cannot(*problem);
    state_.advance();
  }

  void find_racing_tensors() {
    RerunSpec spec = spec_of(PassKind::races);
    spec.values = racing_lines(session_, seconds_for_values());
    add(spec);
  }

  void run_eagerly() {
    RerunSpec spec = spec_of(PassKind::eager);
    add(spec);
    if (!options_.values || !continues()) return;
    diagnose::EagerReruns* reruns = state_.eager();
    if (reruns == nullptr) return;
    const session::Session& eager = reruns->session();
    const Analysis& found = reruns->state().analysis();
    const bool tells = std::any_of(found.failures.begin(), found.failures.end(), [&](const auto& again) {
      return std::any_of(analysis().failures.begin(), analysis().failures.end(),
                         [&](const auto& failure) { return analyse::shows_line_of(failure, again, eager); });
    });
    if (!tells) return;
    const auto window = analyse::rerun_window(found, WindowReach::calls);
    set_window(spec, window);
    spec.values = suspect_lines(eager, found, seconds_for_values(), 0);
    if (!spec.values.empty()) add(spec);
  }

  void get_dump() { add(spec_of(PassKind::device)); }

  void get_hang_dump() {
    RerunSpec spec = spec_of(PassKind::device);
    // By this time, the rerun hangs if it behaves like the first run.
    spec.dump_after = session_.manifest.passes.front().seconds;
    if (!options_.time_limit) spec.time_limit = std::max(spec.time_limit, kStartSeconds + *spec.dump_after);
    for (unsigned run = 0; run < options_.repeat && add(spec) && continues(); ++run) {
      if (!analyse::ended_without_hang(session_.manifest.passes.back())) return;
    }
  }

  void cross_check() {
    session::Pass* pass = unchecked_dump(session_.manifest);
    const std::filesystem::path folder = writer_.folder() / pass->folder;
    const auto patience = options_.time_limit ? in_milliseconds(*options_.time_limit) : kDebuggerPatience;
    const ToolRun run = run_debugger(folder / pass->dump, std::min(patience, kDebuggerPatience), relay_);
    if (!run.obstacle.empty()) {
      return listener_.cannot({Problem::debugger_failed, {run.obstacle, ""}, folder / pass->dump});
    }
    const auto text = std::string_view(run.output).substr(0, symbolize::kDebuggerTextKept);
    if (const auto failure = writer_.store_text(folder / session::kDebuggerFile, text)) {
      return listener_.cannot({Problem::not_stored, *failure});
    }
    pass->debugger = session::Witness{run.end, run.cut_short, run.seconds};
    store_manifest();
  }

  void sanitize() {
    RerunSpec spec = spec_of(PassKind::sanitize);
    SanitizerKernels kernels = sanitizer_kernels(analysis());
    if (kernels.all) spec.kernels = std::move(kernels.names);
    spec.sanitizer = find_sanitizer();
    spec.time_limit = options_.time_limit.value_or(kStartSeconds + kSlowestSanitized * expected_seconds(session_));
    add(spec);
  }

  double seconds_for_values() const {
    const double least = options_.save_inputs ? kSavingSeconds : kValuesSeconds;
    return std::max(least, kValuesShare * expected_seconds(session_));
  }

  // An isolated rerun is terminated after this many seconds without an operation. The program may be a server that gets
  // no requests, or a program that waits for input that only the first run had. 0 means no limit.
  double quiet_limit() const {
    return plan_.isolated ? kQuietSeconds + options_.patience + kSlowest * longest_pause(session_) : 0;
  }

  RerunSpec spec_of(PassKind kind) const {
    RerunSpec spec;
    spec.kind = kind;
    spec.dumps = kind == PassKind::device;
    spec.time_limit = options_.time_limit.value_or(kStartSeconds + kSlowest * expected_seconds(session_));
    spec.operations = operations_of(session_);
    spec.expected_seconds = expected_seconds(session_);
    spec.show = options_.show;
    spec.input = plan_.input;
    spec.isolated = plan_.isolated;
    spec.one_process = session_.processes.size() == 1;
    spec.write_limit = options_.write_limit ? std::uint64_t{*options_.write_limit} << 20 : launch::usual_write_limit();
    spec.hidden = since_.made;
    spec.quiet_limit = quiet_limit();
    return spec;
  }

  // Runs a pass and adds it to the session. Runs it again with everything in view if the program ended early, perhaps
  // because it misses what the first run created. Returns false if the pass could not run.
  bool add(RerunSpec spec) {
    if (!add_once(spec)) return false;
    const Outcome outcome = analysis().reruns.back().outcome;
    const bool misses = outcome == Outcome::not_reached || outcome == Outcome::kept_from;
    if (!misses || spec.hidden.empty() || interrupted_ || any_left_) return true;
    hide_nothing();
    spec.hidden.clear();
    return add_once(spec);
  }

  bool add_once(const RerunSpec& spec) {
    listener_.begins(spec, session_.reruns.size() + 1);
    auto done = rerun(spec, session_, writer_, relay_, listener_);
    if (const auto* failure = std::get_if<base::Error>(&done)) {
      listener_.cannot({Problem::impossible, *failure});
      possible_ = false;
      return false;
    }
    auto& result = std::get<RerunResult>(done);
    interrupted_ = result.interrupted;
    any_left_ = result.any_left;
    note_beginning(result);
    session_.manifest.passes.push_back(std::move(result.pass));
    session_.reruns.push_back(std::move(result.processes));
    session_.rerun_races.push_back(std::move(result.races));
    store_manifest();
    futile_ = analysis().reruns.back().outcome == Outcome::kept_from ||
              session_.manifest.passes.back().cut_short == session::CutShort::issued_nothing;
    listener_.ended({spec, session_, analysis(), result.interrupted, result.dump_asked});
    return true;
  }

  // Stores the manifest after a change of the session.
  void store_manifest() {
    state_.advance();
    if (const auto failure = writer_.store_manifest(session_.manifest)) {
      listener_.cannot({Problem::not_stored, *failure});
    }
  }

  session::Session& session_;
  diagnose::SessionState& state_;
  session::SessionWriter& writer_;
  launch::SignalRelay& relay_;
  const RerunPlan& plan_;
  const RerunOptions& options_;
  RerunListener& listener_;
  std::set<Task> explained_;
  bool interrupted_ = false;
  bool futile_ = false;
  bool any_left_ = false;
  bool possible_ = true;
  FolderSnapshot::Since since_;              // reruns do not see what it lists as made
  std::vector<std::filesystem::path> seen_;  // created by the first run, and not hidden
  bool hides_ = false;
  std::string note_;  // about since_
};

}  // namespace

bool run_reruns(session::Session& session, diagnose::SessionState& state, session::SessionWriter& writer,
                launch::SignalRelay& relay, const RerunPlan& plan, RerunListener& listener) {
  Recording::tell_outer_launcher();
  return RerunSequence(session, state, writer, relay, plan, listener).run();
}

WindowSequence::WindowSequence(const RerunPlan& plan)
    : plan_(plan),
      reach_(static_cast<int>(plan.reach.value_or(WindowReach::calls))),
      last_(static_cast<int>(plan.reach.value_or(WindowReach::everything))) {}

std::optional<analyse::RerunWindow> WindowSequence::next_window(const analyse::Analysis& analysis) {
  const bool is_first = state_ == State::first;
  if (plan_.window) return is_first ? plan_.window : std::nullopt;
  if (is_first && !plan_.reach && !wants_proof(analysis) && !plan_.options.save_inputs) return std::nullopt;
  while (reach_ <= last_) {
    auto window = analyse::rerun_window(analysis, static_cast<WindowReach>(reach_++));
    // A rerun with an empty window waits for nothing, and one with the same window as before adds nothing.
    if (!window.text.empty() && window.text != window_.text) return window;
  }
  return std::nullopt;
}

std::optional<WindowStep> WindowSequence::next(const analyse::Analysis& analysis) {
  if (state_ == State::over) return std::nullopt;
  if (state_ != State::again) {
    auto window = next_window(analysis);
    state_ = window ? State::again : State::over;
    if (!window) return std::nullopt;
    window_ = std::move(*window);
    passed_ = 0;
  }
  return WindowStep{window_, without_values_};
}

void WindowSequence::note(const analyse::Rerun& rerun) {
  const Outcome outcome = rerun.outcome;
  // With a wider window, fewer operations are outstanding at each wait.
  if (outcome == Outcome::failed || outcome == Outcome::given_up) {
    state_ = State::wider;
    return;
  }
  if (outcome != Outcome::did_not_fail && outcome != Outcome::not_reached) {
    state_ = State::over;
    return;
  }
  // Reading values may be why the rerun did not fail. A rerun that reads no values shows whether this is the reason.
  if (!with_values_ && rerun.disturbed) {
    with_values_ = outcome;
    without_values_ = true;
    return;
  }
  // A program that failed in another way twice, with values and without, does so each time.
  const bool fails_otherwise = outcome == Outcome::not_reached && rerun.end.bad && outcome == with_values_;
  without_values_ = without_values_ && outcome != with_values_;
  if (++passed_ >= plan_.options.repeat || fails_otherwise) state_ = State::over;
}

}  // namespace cudadiag::supervise
