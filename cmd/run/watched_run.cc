#include "run/watched_run.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "analyse/reruns.h"
#include "base/files.h"
#include "base/processes.h"
#include "base/text.h"
#include "diagnose/session_state.h"
#include "diagnose/words.h"
#include "launch/gpu_usage.h"
#include "launch/libraries.h"
#include "launch/process_tree.h"
#include "report/writers.h"
#include "run/reruns.h"
#include "session/session_reader.h"
#include "sessions/session_choice.h"
#include "supervise/hook_config.h"
#include "supervise/reruns/gpu_dumps.h"
#include "supervise/reruns/rerun_policy.h"
#include "supervise/run_watch.h"
#include "supervise/toolkit_programs.h"
#include "terminal.h"

namespace cudadiag::command {
namespace {

// The report may make no progress for as many seconds as a rerun may take.
constexpr double kUsualLimit = 30, kLongestLimit = 3600;
// Signals within this time of the first count as the same request to end.
constexpr std::chrono::seconds kSecondRequest{1};
// How long to wait before trying again to write kept text to stderr.
constexpr std::chrono::milliseconds kBeforeMoreIsRead{50};

// Warns about commands that run the program elsewhere. The program then gets neither this process's environment nor its
// shared memory.
void advise_on_remote_commands(const std::string& program) {
  const std::string name = base::file_name(program);
  for (const char* remote : {"docker", "podman", "kubectl", "ssh", "srun", "apptainer", "singularity"}) {
    if (name != remote) continue;
    say(name +
        " starts the program in a different environment, where cudadiag may be unable to record it. Start "
        "cudadiag in that environment (" +
        name + " … cudadiag run -- COMMAND), or export the variables from cudadiag env there");
  }
}

// Runs `step` and returns false if it throws. A bug in a report must not prevent cudadiag from returning the target's
// status.
template <typename Step>
bool guarded(const Step& step) {
  try {
    step();
    return true;
  } catch (const std::exception& error) {
    say(std::string("the report failed: ") + error.what() + "; cudadiag report may still be able to read the session");
    return false;
  }
}

// A shell prints the signal that killed its child. Here the child is cudadiag, so cudadiag prints the signal that
// killed the command.
void print_signal(int signal) {
  if (signal == SIGPIPE) return;  // shells print nothing for SIGPIPE
  const char* name = ::sigabbrev_np(signal);
  say("the command was killed by signal " + std::to_string(signal) +
      (name == nullptr ? "" : " (SIG" + std::string(name) + ")"));
}

// Prints messages while the target is running. Never blocks on a slow reader of stderr.
class RunSpeech : public supervise::RunListener {
 public:
  RunSpeech(supervise::Recording& recording, RunReport& report, const RunOptions& options, launch::SignalRelay& relay)
      : recording_(recording), report_(report), options_(options), relay_(relay) {}

  supervise::AfterFreeze froze() override {
    using enum supervise::AfterFreeze;
    // With --once, the driver ends the process itself. The answer needs the core dump, so it waits for that end.
    bool ends_by_itself = false;
    guarded([&] { ends_by_itself = recording_.is_ended_by_driver(); });
    if (ends_by_itself) return not_yet;
    guarded([&] { recording_.take_own_dump(); });
    begin_on_own_row();
    guarded([&] { report_.report_freeze(); });
    return options_.end_on_failure && report_.findings() ? end_target : go_on;
  }
  void ends_frozen() override {
    say("ending the program because of --end-on-failure");
    recording_.note_early_end(session::CutShort::first_failure);
  }
  void hangs(double seconds) override {
    begin_on_own_row();
    const char* how = recording_.is_being_dumped() ? ", although the driver has not finished its GPU core dump"
                      : recording_.may_be_dumped() ? " after requesting a GPU core dump"
                                                   : "";
    say("no progress for " + diagnose::duration(seconds) + ": ending the program" + how);
    guarded([&] { report_.report_hang(seconds, relay_); });
  }
  void stalls(const supervise::StallNews& news) override {
    begin_on_own_row();
    guarded([&] { report_.report_stalls(news); });
  }
  void unreached(const std::string& what) override {
    recording_.note_unreached(what);
    if (!recording_.manifest().unrecorded.empty()) return;  // RunReport has given the reason
    begin_on_own_row();
    say(what);
  }
  void interrupts() override {
    guarded([&] { recording_.read_host_stacks(); });
  }
  void cannot_end() override {
    say("cannot end the program: it is stuck in the GPU driver, and keeps running; check the GPU with nvidia-smi");
  }
  void races() override {
    begin_on_own_row();
    say("two operations race: ending the program because of --stop-on-race");
    recording_.note_early_end(session::CutShort::first_race);
  }
  std::optional<std::chrono::milliseconds> turns() override {
    return speech_.go_on() ? std::nullopt : std::optional(kBeforeMoreIsRead);
  }

 private:
  supervise::Recording& recording_;
  RunReport& report_;
  const RunOptions& options_;
  launch::SignalRelay& relay_;
  UnhurriedSpeech speech_;
};

// Empties the report of an earlier run, so that nobody mistakes it for the report of this run if this run ends early.
void empty_older_report(const std::string& path) {
  std::error_code ignored;  // ignored: writing the report will fail for the same reason
  if (std::filesystem::is_regular_file(path, ignored)) std::filesystem::resize_file(path, 0, ignored);
}

// Writes the report to the file. If the file cannot be written, prints the reason. `stored`: the session has all of the
// report.
void write_json_file(const diagnose::Diagnosis& report, const std::string& path, bool stored) {
  const auto failure = base::write_output_file(path, report::write_json(report), base::Earlier::replaced);
  if (!failure) return;
  const bool full = base::is_for_lack_of_room(failure->error);
  say(fmt::format("cannot write the report to {}: {}; {}{}", path, failure->why,
                  full ? "free some space" : "choose a writable file",
                  stored ? fmt::format("{} run: cudadiag report {} --json", full ? ", then" : ", or",
                                       diagnose::shell_word(report.session))
                         : ""));
}

// Runs and observes the command, reports the findings, and reruns the command.
class WatchedRun {
 public:
  explicit WatchedRun(const RunOptions& options) : options_(options), recording_(options.recording) {}

  // Returns the exit status if the command cannot run; nullopt if it was started.
  std::optional<int> start() {
    if (recording_.refusal()) {
      recording_.discard();
      return say(*recording_.refusal()), kOwnFailure;
    }
    report_.emplace(recording_, options_);
    relay_.emplace();
    recording_.note_beginning();
    auto spawned = launch::Target::spawn(options_.recording.command, recording_.environment());
    if (const auto* failure = std::get_if<launch::SpawnFailure>(&spawned)) {
      recording_.discard();
      say(failure->failure);
      return failure->exit_status;
    }
    if (recording_.writer() != nullptr) {
      way_to_session_ = ". To read the session later: cudadiag report " +
                        diagnose::shell_word(session::finished_name(recording_.writer()->folder()).string());
    }
    target_.emplace(std::move(std::get<launch::Target>(spawned)));
    watch_.emplace(*target_, *relay_, recording_.arena());
    return std::nullopt;
  }

  // Waits until the target has exited.
  void wait() {
    // A report at a freeze may get stuck. Only the target may end this process at a second signal.
    const launch::EndableWork endable(std::chrono::hours(24), [this](auto idle, bool asked) { give_up(idle, asked); });
    const bool waited = guarded([&] { wait_with_onlookers(); });
    if (!waited) watch_->wait_alone();
    guarded([&] {
      if (recording_.hung()) return;
      outliving_ = watch_->wait_for_rest();
      print_unrecorded_rest();
    });
  }

  // Reports the findings, then offers reruns to find out more.
  void finish() {
    const launch::EndableWork endable(kSecondRequest, [this](auto idle, bool asked) { give_up(idle, asked); });
    begin_on_own_row();
    if (full_log_) guarded([&] { recording_.note_failures(full_log_->finish()); });
    if (stalls_) {
      guarded([&] {
        // The program may have ended before this process handled the signal.
        if (relay_->interrupted()) stalls_->interrupted();
        report_->note_stalls(stalls_->finish());
      });
    }
    if (races_) guarded([&] { recording_.add_races(races_->finish()); });
    recording_.note_input(input_.was_read());
    guarded([&] { recording_.take_own_dump(); });
    guarded([&] { report_->finish({end(), launch::ends_of_children(), outliving_, relay_->interrupted()}); });
    if (full_log_ && full_log_->lost() > 0 && recording_.writer() != nullptr) {
      say("the full log lacks " + diagnose::thousands(full_log_->lost()) +
          (full_log_->lost() == 1 ? " operation that was overwritten before it could be read"
                                  : " operations that were overwritten before they could be read"));
    }
    if (found_any() || report_->open_pairs()) {
      guarded([&] { offer_reruns(recording_, *report_, options_, input_, *relay_, watch_->sent()); });
    }
    if (!found_any()) guarded([&] { report_->drop_if_clean(); });
    const bool stored = recording_.keeps_session() && recording_.is_whole();
    if (!options_.json.empty()) guarded([&] { write_json_file(report_->report(), options_.json, stored); });
    if (recording_.writer() != nullptr && !options_.rerun.keep_core) {
      guarded([&] { supervise::drop_large_dumps(recording_.session(), *recording_.writer()); });
    }
  }

  const session::ProcessEnd& end() const { return target_->end(); }
  bool found_any() const { return report_->findings(); }
  bool has_failed() const { return report_->failed(); }
  // Returns true if a process that used a GPU was not recorded or checked.
  bool is_void() const { return recording_.is_void(); }
  // Returns true if cudadiag sent this signal to the target.
  bool sent(int signal) const { return watch_->sent().contains(signal); }

 private:
  // Ends this process with the status of the command, if that has ended and this process was asked twice to end, or has
  // been idle for too long since then. The supervisor of a rerun notices the end of this process, and ends the rerun.
  // Called on a separate thread, which may use only what is constant or may be used on any thread.
  void give_up(std::chrono::milliseconds idle, bool asked) {
    session::ProcessEnd ended;
    if (target_->has_ended()) {
      ended = end();
    } else {
      siginfo_t state{};
      const auto pid = static_cast<id_t>(target_->pid());
      if (::waitid(P_PID, pid, &state, WEXITED | WNOHANG | WNOWAIT) != 0 || state.si_pid == 0) return;
      if (state.si_code == CLD_EXITED) {
        ended.code = state.si_status;
      } else {
        ended.signal = state.si_status;
      }
    }
    if (!seen_ended_) seen_ended_ = std::chrono::steady_clock::now();
    if (!asked && (idle < limit_ || std::chrono::steady_clock::now() - *seen_ended_ < limit_)) return;
    const bool is_lost = recording_.arena() != nullptr && !report_->stored();
    const std::string text =
        fmt::format("cudadiag: the report is not complete: {}{}\n",
                    asked ? "a second signal ended it"
                          : fmt::format("it made no progress for {} s; a file server may not answer", limit_.count()),
                    is_lost ? ", and the recording is lost" : way_to_session_);
    // Does not wait for a reader, and takes no lock that the stuck thread may hold.
    pollfd output{STDERR_FILENO, POLLOUT, 0};
    if (::poll(&output, 1, 0) > 0) {
      [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    }
    if (has_failed() && options_.error_exit_status) std::_Exit(*options_.error_exit_status);
    launch::exit_like(ended);
  }

  void wait_with_onlookers() {
    races_ = watch_races();
    full_log_ = keep_full_log();
    recording_.use_full_log(full_log_.get());
    recording_.use_xids(&xids_.emplace());
    RunSpeech speech(recording_, *report_, options_, *relay_);
    if ((options_.hang_after || options_.hang_report) && recording_.arena() == nullptr) {
      say("cannot look for hangs: the recording is not in shared memory; to find out why: cudadiag doctor");
    } else if (recording_.arena() != nullptr) {
      stalls_.emplace(*recording_.arena(), options_.hang_report);
    }
    supervise::UnrecordedWatch unreached(*target_, recording_);
    const std::filesystem::path dumps =
        recording_.may_be_dumped() ? recording_.writer()->pass_folder() : std::filesystem::path();
    watch_->wait({options_.hang_after, dumps, full_log_.get(), options_.stop_on_race ? races_.get() : nullptr,
                  stalls_ ? &*stalls_ : nullptr, &unreached},
                 speech);
    for (const std::string& what : unreached.finish()) speech.unreached(what);
    if (const std::size_t more = unreached.unnamed(); more > 0) {
      say(more == 1 ? "1 more process used a GPU without being recorded"
                    : diagnose::thousands(more) + " more processes used a GPU without being recorded");
    }
  }

  // Names the processes that outlive the command and have not used CUDA yet. Their recorders will write to the folder
  // that the session has now, even if it is removed or renamed.
  void print_unrecorded_rest() const {
    if (options_.verbosity == report::Verbosity::quiet || recording_.writer() == nullptr) return;
    std::vector<std::uint32_t> rest = watch_->rest();
    std::erase_if(rest, [&](std::uint32_t pid) { return std::ranges::find(outliving_, pid) != outliving_.end(); });
    if (rest.empty()) return;
    const std::string folder = diagnose::shell_word(recording_.writer()->folder().string());
    const std::string others = rest.size() == 1 ? "" : " and " + diagnose::thousands(rest.size() - 1) + " more";
    say("process " + std::to_string(rest.front()) + " (" + base::process_name(rest.front()) + ")" + others +
        (rest.size() == 1 ? " was" : " were") +
        " still running when the command exited, so cudadiag stopped watching; if " +
        (rest.size() == 1 ? "it" : "one of them") + " uses CUDA later, this shows its recording: cudadiag report " +
        folder);
  }

  // Returns null if the user did not request race detection. If race detection is impossible, prints the reason and
  // returns null.
  std::unique_ptr<supervise::RaceWatch> watch_races() {
    if (!options_.recording.record.races) return nullptr;
    if (recording_.arena() == nullptr) {
      say("cannot look for races: the recording is not in shared memory; to find out why: cudadiag doctor");
      return nullptr;
    }
    const std::filesystem::path folder = recording_.writer() == nullptr ? "" : recording_.writer()->pass_folder();
    return std::make_unique<supervise::RaceWatch>(*recording_.arena(), *relay_, folder,
                                                  supervise::find_disassembler(options_.recording.command));
  }

  // Returns null if the user did not request a full log. If a full log is impossible, prints the reason and returns
  // null.
  std::unique_ptr<supervise::FullLogCollector> keep_full_log() {
    if (!options_.recording.full_log) return nullptr;
    if (recording_.arena() == nullptr) {
      say("--full-log has no effect: the recording is not in shared memory; to find out why: cudadiag doctor");
      return nullptr;
    }
    if (recording_.writer() == nullptr) {
      say("--full-log has no effect: no session can be written; choose a folder with -o FOLDER");
      return nullptr;
    }
    return std::make_unique<supervise::FullLogCollector>(*recording_.arena(), recording_.writer()->pass_folder());
  }

  const RunOptions& options_;
  const launch::Input input_;
  supervise::Recording recording_;
  std::optional<RunReport> report_;
  std::optional<launch::SignalRelay> relay_;
  std::optional<launch::Target> target_;
  std::optional<supervise::RunWatch> watch_;
  std::unique_ptr<supervise::RaceWatch> races_;
  std::unique_ptr<supervise::FullLogCollector> full_log_;
  std::optional<launch::XidEvents> xids_;
  std::optional<supervise::StallWatch> stalls_;
  std::vector<std::uint32_t> outliving_;
  std::string way_to_session_;  // the end of a message; empty if there is no session
  const std::chrono::seconds limit_{
      std::llround(std::clamp(options_.rerun.time_limit.value_or(kUsualLimit), 1.0, kLongestLimit))};
  std::optional<std::chrono::steady_clock::time_point> seen_ended_;  // used only by give_up()
};

// Returns the window of operations to wait for in order to catch this session's failure again (wire/rerun.h).
std::string window_of_session(const std::string& name, const std::optional<std::filesystem::path>& output) {
  const std::filesystem::path folder = taken(session::find_session(session::roots_to_read(output), name));
  const session::Session session = taken(session::open_session(folder));
  // The window covers all calls on the suspects' lines, because nobody can predict which call of a long job will fail.
  auto window = analyse::rerun_window(diagnose::SessionState(session).analysis(), analyse::WindowReach::sites);
  if (window.text.empty()) {
    throw base::Error{"the session " + session.folder.string() + " has no suspects to wait for",
                      "choose a session with an asynchronous failure from cudadiag list"};
  }
  return window.text;
}

}  // namespace

int run(const RunOptions& given) {
  RunOptions options = given;
  // A write to a closed pipe, or beyond a file size limit, must return an error. A fatal signal would prevent cudadiag
  // from returning the target's status.
  for (const int signal : {SIGXFSZ, SIGPIPE}) launch::ignore_signal_here(signal);
  if (const auto unknown = unknown_path(options.recording.code_rules, nullptr)) throw *unknown;
  if (!options.arm.empty()) {
    options.recording.window =
        supervise::with_patience(window_of_session(options.arm, options.recording.output), options.rerun.patience);
  }
  if (!options.json.empty()) empty_older_report(options.json);
  const std::vector<std::string>& command = options.recording.command;
  advise_on_remote_commands(command.front());
  for (const std::string& missing : launch::missing_cupti()) say(missing + ": " + launch::kCorrectCupti);
  for (const std::string& sentence : supervise::doubtful_lines(options.recording.watch, command)) say(sentence);
  session::ProcessEnd end;
  bool has_failed = false, is_void = false, sent_from_here = false;
  {
    WatchedRun watched(options);
    if (const auto status = watched.start()) return *status;
    watched.wait();
    watched.finish();
    end = watched.end();
    has_failed = watched.has_failed();
    is_void = watched.is_void();
    sent_from_here = end.signal && watched.sent(*end.signal);
  }
  if ((has_failed || is_void) && options.error_exit_status) return *options.error_exit_status;
  if (end.signal && !sent_from_here && options.verbosity != report::Verbosity::quiet) print_signal(*end.signal);
  launch::exit_like(end);
}

}  // namespace cudadiag::command
