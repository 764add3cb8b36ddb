// Prints messages about the reruns and their progress to standard error.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "diagnose/run_description.h"
#include "diagnose/words.h"
#include "report/finding_text.h"
#include "report/writers.h"
#include "run/reruns.h"
#include "session/saved_results.h"
#include "session/session_folders.h"
#include "supervise/toolkit_programs.h"
#include "terminal.h"

namespace cudadiag::command {

namespace {

// An estimate from a smaller share of the work than this is too inaccurate.
constexpr double kLeastShare = 0.02;
constexpr int kUsualColumns = 80;  // for terminals that do not report their width

std::string time_text(const ProgressState& state) {
  if (!state.share) {
    const std::string so_far = whole_seconds(state.seconds);
    return state.seconds < state.expected_seconds ? so_far + " of about " + whole_seconds(state.expected_seconds)
                                                  : so_far + " so far";
  }
  if (*state.share < kLeastShare || *state.share >= 1) return "";
  const double left = (state.seconds - state.idle_seconds) / *state.share - state.seconds;
  return left > 0 ? whole_seconds(left) + " left" : "";
}

}  // namespace

std::string whole_seconds(double seconds) {
  const double whole = std::ceil(seconds);
  return whole < 10 ? fmt::format("{:.0f} s", whole) : diagnose::duration(whole);
}

std::string progress_line(const ProgressState& state, std::size_t columns) {
  std::string what = "cudadiag: " + state.doing;
  if (state.share) what += fmt::format(" {:.0f}%", std::floor(*state.share * 100));
  const std::string time = time_text(state);
  const std::string timed = time.empty() ? what : what + ", " + time;
  for (const std::string& line : {timed + " (Ctrl-C stops)", timed, what}) {
    if (base::width(line) <= columns) return line;
  }
  return base::clip(what, columns);
}

double TickedTime::tick(Clock::time_point now) {
  seconds_ += std::min(1.0, std::chrono::duration<double>(now - last_).count());
  last_ = now;
  return seconds_;
}

Progress::Progress(std::string doing, std::uint64_t operations, double expected_seconds)
    : state_{std::move(doing), 0, std::nullopt, expected_seconds},
      operations_(operations),
      time_(std::chrono::steady_clock::now()),
      terminal_(can_be_driven(STDERR_FILENO)) {}

Progress::~Progress() {
  if (shown_ && may_paint()) write_error_text("\r\033[K");
}

void Progress::now_waits_for(std::string what) {
  state_.doing = std::move(what);
  if (waits_) return;
  waits_ = true;
  state_.expected_seconds = 0;
  state_.share.reset();
  operations_ = 0;
  time_ = TickedTime(std::chrono::steady_clock::now());
}

bool Progress::may_paint() const { return terminal_ && launch::in_foreground(STDERR_FILENO); }

void Progress::show(std::uint64_t done) {
  const double before = state_.seconds;
  state_.seconds = time_.tick(std::chrono::steady_clock::now());
  if (!may_paint()) return;
  if (operations_ > 0) {
    const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(operations_));
    state_.idle_seconds = state_.share == share ? state_.idle_seconds + state_.seconds - before : 0;
    state_.share = share;
  }
  // Leaves the last column free, because some terminals wrap the line there.
  const int columns = columns_of(STDERR_FILENO).value_or(kUsualColumns) - 1;
  write_error_text("\r\033[K" + progress_line(state_, static_cast<std::size_t>(columns)));
  shown_ = true;
}

namespace {

using session::PassKind;
using supervise::RerunEnded;
using supervise::RerunProblem;
using supervise::RerunSpec;
using RerunOutcome = analyse::Rerun::Outcome;

bool is_for_hang(const RerunSpec& spec) { return spec.dump_after.has_value(); }

// Returns the label for the progress display.
const char* doing(PassKind kind) {
  switch (kind) {
    case PassKind::device:
      return "getting a GPU core dump";
    case PassKind::eager:
      return "running without torch.compile";
    case PassKind::sanitize:
      return "running compute-sanitizer";
    case PassKind::memory:
      return "finding out what holds the memory";
    case PassKind::races:
      return "looking for the racing tensors";
    case PassKind::origin:
      return "tracing the bad value";
    case PassKind::launch:
      return "saving the failing launch";
    default:
      return "confirming";
  }
}

// Returns a clause such as "waits for call 3 of train.py:41".
std::string purpose(const RerunSpec& spec) {
  switch (spec.kind) {
    case PassKind::device:
      return "asks the driver for a GPU core dump";
    case PassKind::eager:
      return spec.values.empty() ? "runs without torch.compile" : "runs without torch.compile, and reads the values";
    case PassKind::sanitize:
      return "runs under compute-sanitizer";
    case PassKind::memory:
      return "asks PyTorch's allocator what holds the memory";
    case PassKind::races:
      return "looks for the tensors in the racing memory";
    case PassKind::origin:
      return "traces where the bad value came from";
    default:
      return fmt::format("waits for {}{}{}", spec.waits, spec.without_values ? ", and reads no values" : "",
                         spec.dumps                     ? ", and asks the driver for a GPU core dump"
                         : spec.seconds_for_tracing > 0 ? ", and traces the bad value"
                                                        : "");
  }
}

// `what`: the outcome to print, unless the rerun was cut short.
void print_end(const RerunEnded& rerun, const std::string& what) {
  const session::Pass& pass = rerun.pass();
  say(fmt::format("rerun {}: {}, after {}", rerun.session.reruns.size(),
                  pass.cut_short ? word(*pass.cut_short) : std::string_view(what), diagnose::duration(pass.seconds)));
}

void print_confirmed(const RerunEnded& rerun, const std::string& isolated) {
  const session::Pass& pass = rerun.pass();
  std::string what(pass.cut_short ? word(*pass.cut_short) : diagnose::word(rerun.judged().outcome));
  if (!pass.cut_short && rerun.judged().outcome == RerunOutcome::did_not_fail && rerun.judged().end.bad) {
    what = fmt::format("no GPU work failed, but it ended with {}", rerun.judged().end.text);
  } else if (!pass.cut_short && rerun.judged().outcome == RerunOutcome::kept_from) {
    what = "was kept from " + diagnose::kept_from_text(pass.kept_from, rerun.session.manifest.working_directory);
  }
  const std::uint64_t waits = rerun.judged().waits;
  say(fmt::format("rerun {}: {}, after {}; waited for {}", rerun.session.reruns.size(), what,
                  diagnose::duration(pass.seconds), report::counted(waits, "operation")));
  if (rerun.judged().outcome != RerunOutcome::not_reached || !rerun.judged().end.bad) return;
  const auto printed = rerun.session.folder / pass.folder / session::kOutputFile;
  const std::string output = "its output is in " + diagnose::shell_word(printed.string());
  if (!rerun.session.reruns.back().empty()) {
    say("the rerun failed in another way; " + output);
  } else {
    say("the rerun exited before it used CUDA; " + output +
        ". The command may need the first run's input or environment variables" +
        (rerun.spec.isolated ? "" : ", or files that the first run created may be in its way: " + isolated));
  }
  const std::string last = report::last_line_text(session::last_printed_line(rerun.session.folder / pass.folder));
  if (!last.empty()) say(last);
}

std::string why_no_hang_dump(const RerunEnded& rerun) {
  if (rerun.interrupted) return "the rerun was interrupted";
  if (rerun.dump_asked) return "cudadiag requested one from the driver, but the driver wrote none";
  return analyse::ended_without_hang(rerun.pass())
             ? "the rerun did not hang"
             : "no process accepted a request for one: only NVIDIA's driver does, and only for work on a GPU";
}

void print_device(const RerunEnded& rerun) {
  const char* unwritten = rerun.judged().failed_unwatched == false ? "did not fail" : "no GPU core dump was written";
  print_end(rerun, rerun.pass().dump.empty() ? unwritten : "a GPU core dump was written");
}

// Returns the nearest minute, because diagnose::duration() rounds up.
std::string rounded_duration(double seconds) {
  return diagnose::duration(seconds < 120 ? seconds : std::round(seconds / 60) * 60);
}

}  // namespace

std::string sentence(const supervise::RerunObstacle& obstacle) {
  using Kind = supervise::RerunObstacle::Kind;
  switch (obstacle.kind) {
    case Kind::under_another_launcher:
      return "it ran under another cudadiag";
    case Kind::ended_early:
      return "cudadiag ended it at its " + obstacle.detail;
    case Kind::hung:
      return "it hung";
    case Kind::ended_by_signal:
      return obstacle.detail.starts_with("signal") ? obstacle.detail + " ended it"
                                                   : "it ended with " + obstacle.detail + ", as after a signal";
    case Kind::failed_late:
      return "it failed only after " + rounded_duration(obstacle.seconds);
    case Kind::took_long:
      return "it took " + rounded_duration(obstacle.seconds);
    case Kind::one_rank:
      return "it is one rank of a job";
    case Kind::several_nodes:
      return "the job spans several nodes";
    case Kind::mps:
      return kMpsWarning;
    case Kind::input:
      return obstacle.detail;
    case Kind::descriptor:
      return "a rerun cannot read " + obstacle.detail + ", which only the first run had";
    case Kind::not_isolated:
      return "this system cannot isolate a rerun (" + obstacle.detail + ")";
    case Kind::no_folder:
      return obstacle.detail.empty()
                 ? "its working folder was removed before it started; first change to a folder that exists"
                 : "its working folder has been removed and must first be created again: " + obstacle.detail;
    case Kind::exposed:
      return "another user can rename entries of " + obstacle.detail + " and so replace the session's folder";
    case Kind::interrupted:
      return "it was interrupted";
    case Kind::no_terminal:
      return "no one can answer the question without a terminal";
    case Kind::no_terminal_for_errors:
      return "cudadiag cannot ask whether to rerun it: standard error is not a terminal";
    case Kind::in_ci:
      return "this is a CI job, where no one can answer the question";
    case Kind::quiet:
      return "-q suppresses the question";
    case Kind::in_background:
      return "this job is in the background, where no one can answer the question";
    case Kind::dumb_terminal:
      return "this terminal cannot show a question";
    case Kind::raw_terminal:
      return "the program left the terminal in raw mode";
  }
  return "";
}

std::string sentence(supervise::RerunProblem::Kind reason) {
  using Kind = supervise::RerunProblem::Kind;
  switch (reason) {
    case Kind::debugger_asked_already:
      return "cuda-gdb has already read its GPU core dump";
    case Kind::no_dump_to_check:
      return "the session has no GPU core dump for cuda-gdb to read";
    case Kind::no_suspected_kernel:
      return "no rerun under compute-sanitizer: the name of the suspected kernel is unknown";
    case Kind::no_sanitizer:
      return "compute-sanitizer is not installed here; cudadiag report -v shows the command for a machine that has it";
    case Kind::not_for_sanitizer:
      return "no rerun under compute-sanitizer: it detects no failure of this kind";
    case Kind::sanitized_already:
      return "the command has already run under compute-sanitizer";
    case Kind::traced_already:
      return "a rerun has already traced the bad value";
    case Kind::nothing_to_trace:
      return "no origin to trace: cudadiag traces values only if GPU work of a Python program fails";
    case Kind::nothing_saved:
      return "no inputs were saved: cudadiag saves them only for a PyTorch operator that one of your Python lines "
             "calls, outside backward passes and compiled code";
    case Kind::no_launch_saved:
      return "no launch was saved: cudadiag saves one only if a rerun finds a single failing kernel that runs alone on "
             "the GPU; if the kernel is a node of a graph, the report's notes may say why it was not saved";
    default:
      return "";
  }
}

std::string RerunMessages::bisect_command(const std::string& options) const {
  const session::Manifest& manifest = session_.manifest;
  return diagnose::bisect_command(session_.folder.string(), manifest.input_read, manifest.rerun_options, options);
}

void RerunMessages::begins(const RerunSpec& spec, std::size_t number) {
  if (prints_passes_) say(fmt::format("rerun {}: {}", number, purpose(spec)));
  // The user requested this rerun explicitly. Its time limit and its failure are therefore always printed.
  if (is_for_hang(spec)) {
    say(fmt::format("running the command again for a GPU core dump of its kernels: {} at most (--time-limit)",
                    diagnose::duration(spec.time_limit)));
  }
}

void RerunMessages::runs(const RerunSpec& spec, const supervise::RerunProgress& progress) {
  if (!progress_) progress_.emplace(doing(spec.kind), progress.operations ? spec.operations : 0, spec.expected_seconds);
  if (progress.dump_bytes > 0) {
    progress_->now_waits_for(
        fmt::format("the driver is writing a GPU core dump: {} MB", (progress.dump_bytes >> 20) + 1));
  }
  progress_->show(progress.operations.value_or(0));
}

void RerunMessages::repeats_launch(double limit) {
  if (!progress_) {
    progress_.emplace("repeating the launch under compute-sanitizer", 0, 0);
    if (prints_passes_) {
      say(fmt::format("repeating the saved launch under compute-sanitizer, to find the address: {} at most",
                      diagnose::duration(limit)));
    }
  }
  progress_->show(0);
}

void RerunMessages::ended(const RerunEnded& rerun) {
  if (after_each_) after_each_(rerun.analysis);
  if (is_for_hang(rerun.spec) && rerun.pass().dump.empty()) {
    const bool first =
        rerun.session.reruns.size() == 1 && !rerun.dump_asked && analyse::ended_without_hang(rerun.pass());
    return say(fmt::format("no GPU core dump was written after {}: {}{}", diagnose::duration(rerun.pass().seconds),
                           why_no_hang_dump(rerun),
                           first ? "; to try several times: " + bisect_command(diagnose::kRepeat) : ""));
  }
  if (!prints_passes_) return;
  switch (rerun.spec.kind) {
    case PassKind::confirm:
      return print_confirmed(rerun, bisect_command(diagnose::kIsolated));
    case PassKind::device:
      return print_device(rerun);
    default:
      return print_end(rerun, "ended");
  }
}

void RerunMessages::cannot(const RerunProblem& problem) {
  using Kind = RerunProblem::Kind;
  switch (problem.kind) {
    case Kind::impossible:
      return say(base::Error{"the rerun failed to start: " + problem.failure.what, problem.failure.hint});
    case Kind::not_stored:
      return say(problem.failure);
    case Kind::cannot_end:
      return say(
          fmt::format("process {0} of the rerun could not be killed. It may belong to another user, or wait for a "
                      "driver or a file server; to find out: ps -o user,stat,wchan,args {0}",
                      problem.pid));
    case Kind::debugger_failed:
      return say(problem.failure.what + "; " + debugger_advice(problem.file));
    case Kind::no_sanitizer:
      return say("compute-sanitizer is not installed here; cudadiag report " +
                 diagnose::shell_word(session_.folder.string()) + " -v shows the command for a machine that has it");
    case Kind::nothing_confirmed:
      return say("no inputs were saved: no rerun confirmed the failure; to try again: " +
                 bisect_command(std::string("--save-inputs ") + diagnose::kRepeat));
    case Kind::replay_not_started:
      return say(base::Error{"the replay could not be started: " + problem.failure.what, problem.failure.hint});
    default:
      return say(sentence(problem.kind));
  }
}

std::string debugger_advice(const std::filesystem::path& dump) {
  std::error_code ignored;
  std::string path = std::filesystem::absolute(dump, ignored).string();
  std::string unpack;
  if (supervise::is_compressed(dump)) {
    const bool named_so = path.ends_with(".gz");  // gunzip rejects other suffixes
    const std::string plain = named_so ? path.substr(0, path.size() - 3) : path + ".unpacked";
    unpack = (named_so ? "gunzip -k " + diagnose::shell_word(path)
                       : "gzip -dc <" + diagnose::shell_word(path) + " >" + diagnose::shell_word(plain)) +
             " && ";
    path = plain;
  }
  const bool installed = supervise::has_debugger();
  if (installed && !unpack.empty()) {
    return "unpack it: " + unpack + "cudadiag core --cross-check " + diagnose::shell_word(path);
  }
  return (installed ? "to run it by hand: " : "on a machine that has it, run: ") + unpack + "cuda-gdb --batch -ex " +
         diagnose::shell_word("target cudacore " + path) + " -ex bt";
}

}  // namespace cudadiag::command
