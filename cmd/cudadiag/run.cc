#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "code_rules.h"
#include "commands.h"
#include "findings.h"
#include "launch/endable_work.h"
#include "launch/environment.h"
#include "launch/input.h"
#include "launch/isolation.h"
#include "launch/process.h"
#include "launch/run_traces.h"
#include "launch/watcher.h"
#include "recording.h"
#include "report/words.h"
#include "rerun_offer.h"
#include "supervise/end_target.h"
#include "supervise/full_log.h"
#include "supervise/hang_watch.h"
#include "supervise/race_watch.h"
#include "supervise/recorded_processes.h"
#include "supervise/reruns/device_pass.h"
#include "supervise/reruns/rerun_times.h"
#include "supervise/watched_lines.h"
#include "terminal.h"

namespace cudadiag::command {
namespace {

using Clock = std::chrono::steady_clock;

// So long the target may say what it has to say itself before the report comes in between.
constexpr auto kCourtesy = std::chrono::seconds(1);
// So long those that the target has left may take to end after it, before they are said to go on.
constexpr auto kAftermath = std::chrono::milliseconds(500);
// So long a program that hangs may take to end by itself once it is asked to.
constexpr auto kGrace = std::chrono::seconds(2);
// Milliseconds until somebody may have read what stderr had no room for.
constexpr int kBeforeMoreIsRead = 50;

// Commands that run the program somewhere that neither our environment nor our memory reaches.
void advise_on_remote_commands(const std::string& program) {
  const std::string name = std::filesystem::path(program).filename().string();
  for (const char* remote : {"docker", "podman", "kubectl", "ssh", "srun", "apptainer", "singularity"}) {
    if (name != remote) continue;
    say(name + " starts the program elsewhere, where this recording may not reach; start cudadiag inside instead: " +
        name + " … cudadiag run -- COMMAND, or set there what cudadiag env prints");
  }
}

// Runs `step`; what goes wrong in a report must not keep the target's status from being handed on. False: it did.
template <typename Step>
bool guarded(const Step& step) {
  try {
    step();
    return true;
  } catch (const std::exception& error) {
    say(std::string("the report failed: ") + error.what() + "; the session may still be read with cudadiag report");
    return false;
  }
}

// Null: nobody asked for it, or it cannot be done, which is said.
std::unique_ptr<supervise::RaceWatch> watch_races(const RunOptions& options, Recording& recording,
                                                  launch::SignalRelay& relay) {
  if (!options.record.races) return nullptr;
  if (recording.arena() == nullptr) {
    say("races cannot be looked for: there is no memory for the recording that this program could read meanwhile");
    return nullptr;
  }
  const std::filesystem::path folder = recording.writer() == nullptr ? "" : recording.writer()->pass_folder();
  return std::make_unique<supervise::RaceWatch>(*recording.arena(), relay, folder,
                                                supervise::find_disassembler(options.command));
}

// Likewise.
std::unique_ptr<supervise::FullLog> keep_full_log(const RunOptions& options, Recording& recording) {
  if (!options.full_log) return nullptr;
  if (recording.arena() == nullptr || recording.writer() == nullptr) {
    say("--full-log does nothing here, as there is no memory or no folder for the recording");
    return nullptr;
  }
  return std::make_unique<supervise::FullLog>(*recording.arena(), recording.writer()->pass_folder());
}

void end_hanging(launch::Target& target, launch::SignalRelay& relay) {
  if (!supervise::end_target(target, relay, kGrace))
    say("it cannot be ended, as the GPU's driver holds it; it is left as it is");
}

// A shell that tells of such an end names the program that it started: this one.
void tell_signal(int signal) {
  if (signal == SIGPIPE) return;  // as the shell, which names every other one
  const char* name = ::sigabbrev_np(signal);
  say("the command was ended by signal " + std::to_string(signal) +
      (name == nullptr ? "" : " (SIG" + std::string(name) + ")"));
}

bool asks_to_end(int signal) { return signal == SIGINT || signal == SIGQUIT || signal == SIGTERM || signal == SIGHUP; }

void hand_on_signals(launch::Target& target, launch::SignalRelay& relay, std::set<int>& sent) {
  for (const launch::ReceivedSignal& signal : relay.take_signals()) {
    // It has sent it to the group that it shares with us, and so to itself.
    if (target.has_started(signal.sender)) continue;
    target.forward(signal.number);
    sent.insert(signal.number);
  }
}

// Each may be missing.
struct Onlookers {
  std::optional<double> hang_after;
  supervise::FullLog* full_log = nullptr;
  launch::RunTraces* traces = nullptr;
  supervise::RaceWatch* stop_on_race = nullptr;
};

// `sent`: the signals that the target was sent from here.
void wait_for_end(launch::Target& target, launch::SignalRelay& relay, Recording& recording, Onlookers onlookers,
                  std::set<int>& sent) {
  const auto& [hang_after, full_log, traces, races] = onlookers;
  supervise::RaceWatch* stop_on_race = races;
  UnhurriedSpeech speech;
  std::optional<supervise::HangWatch> hang;
  if (hang_after && recording.arena() != nullptr) hang.emplace(*recording.arena(), *hang_after);
  if (hang_after && !hang) say("--hang-after does nothing here, as there is no memory to watch the program by");
  std::optional<launch::Watcher> watcher;
  if (recording.arena() != nullptr) watcher.emplace(*recording.arena(), relay);
  std::optional<Clock::time_point> report_at;
  while (!target.reap()) {
    int patience = 1000;
    if (traces != nullptr) traces->look(target);
    if (watcher && watcher->take_freeze() && !report_at) report_at = Clock::now() + kCourtesy;
    if (report_at) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*report_at - Clock::now()).count();
      if (left <= 0) {
        report_at.reset();
        if (full_log != nullptr) full_log->catch_up();
        begin_on_own_row();
        guarded([&] { recording.report_freeze(); });
        continue;
      }
      patience = std::min(patience, static_cast<int>(left));
    }
    if (hang) patience = std::min(patience, static_cast<int>(hang->interval().count()));
    if (hang && hang->look()) {
      if (full_log != nullptr) full_log->catch_up();
      begin_on_own_row();
      say("no progress for " + report::duration(hang->still_seconds()) + ": ending the program");
      guarded([&] { recording.report_hang(hang->still_seconds()); });
      end_hanging(target, relay);
      sent = {SIGTERM, SIGKILL};
      return;
    }
    if (!speech.go_on()) patience = std::min(patience, kBeforeMoreIsRead);
    relay.wait(patience);
    hand_on_signals(target, relay, sent);
    if (stop_on_race != nullptr && stop_on_race->found_any() && !target.reap()) {
      begin_on_own_row();
      say("two operations race: ending the program, as --stop-on-race asks");
      recording.note_early_end("first race");
      target.signal_all(SIGTERM);
      sent.insert(SIGTERM);
      stop_on_race = nullptr;
    }
  }
  // The terminal sends its own to the whole group.
  if (const auto signal = target.end().signal; signal && relay.interrupted() && asks_to_end(*signal)) {
    sent.insert(*signal);
  }
}

// Processes that outlive the target.
std::vector<std::uint32_t> wait_for_rest(launch::Target& target, launch::SignalRelay& relay, Recording& recording) {
  if (recording.arena() == nullptr || recording.hung()) return {};
  const auto patience = Clock::now() + kAftermath;
  while (true) {
    std::vector<std::uint32_t> rest = supervise::recording_processes(*recording.arena());
    if (rest.empty() || Clock::now() > patience) return rest;
    relay.wait(50);
    relay.take_signals();
    target.reap();
  }
}

}  // namespace

int run(const RunOptions& given) {
  RunOptions options = given;
  // Files that outgrow a limit, and a pipe that nobody reads, are errors and no signals to die of: the target's status
  // is still to be handed on.
  for (const int signal : {SIGXFSZ, SIGPIPE}) launch::ignore_signal_here(signal);
  if (const auto unknown = unknown_path(options.code_rules, nullptr)) return say(*unknown), kOwnFailure;
  if (!options.arm.empty()) {
    auto window = window_of_session(options.arm, options.output);
    if (const auto* failure = std::get_if<session::Failure>(&window)) return say(*failure), kOwnFailure;
    options.window = supervise::with_patience(std::get<std::string>(window), options.rerun.patience);
  }
  if (!options.json.empty()) empty_older_report(options.json);
  advise_on_remote_commands(options.command.front());
  for (const std::string& missing : launch::missing_cupti()) say(missing + ": " + launch::kCorrectCupti);
  for (const std::string& sentence : supervise::doubtful_lines(options.watch, options.command)) say(sentence);
  session::ProcessEnd end;
  bool findings = false;
  std::set<int> sent;
  {
    const launch::Input input;
    Recording recording(options);
    if (recording.refusal()) return say(*recording.refusal()), kOwnFailure;
    launch::SignalRelay relay;
    // Where reruns cannot be isolated, a rerun is as harmless as the first run was.
    std::optional<launch::RunTraces> traces;
    const bool unasked = options.rerun_mode == RerunMode::automatic || options.rerun_mode == RerunMode::ask;
    if (unasked && !launch::can_isolate()) traces.emplace(".");
    auto spawned = launch::Target::spawn(options.command, recording.environment());
    if (const auto* failure = std::get_if<launch::SpawnFailure>(&spawned)) {
      recording.abandon();
      say(failure->failure);
      return failure->exit_status;
    }
    auto& target = std::get<launch::Target>(spawned);
    std::unique_ptr<supervise::RaceWatch> races;
    std::unique_ptr<supervise::FullLog> full_log;
    const bool waited = guarded([&] {
      races = watch_races(options, recording, relay);
      full_log = keep_full_log(options, recording);
      recording.use_full_log(full_log.get());
      const Onlookers onlookers{options.hang_after, full_log.get(), traces ? &*traces : nullptr,
                                options.stop_on_race ? races.get() : nullptr};
      wait_for_end(target, relay, recording, onlookers, sent);
    });
    while (!waited && !target.reap()) {
      relay.wait(1000);
      hand_on_signals(target, relay, sent);
    }
    if (traces) guarded([&] { traces->finish(target, relay); });
    std::vector<std::uint32_t> outliving;
    guarded([&] { outliving = wait_for_rest(target, relay, recording); });
    end = target.end();
    begin_on_own_row();
    if (full_log) guarded([&] { recording.note_failures(full_log->finish()); });
    if (races) guarded([&] { recording.add_races(races->finish()); });
    recording.note_input(input.was_read());
    guarded([&] {
      const launch::EndableWork endable;
      recording.finish(end, target.ends(), outliving, relay.interrupted());
    });
    if (full_log && full_log->lost() > 0 && recording.writer() != nullptr) {
      say("the full log lacks " + report::thousands(full_log->lost()) +
          " operations that were overwritten before they could be read");
    }
    findings = recording.findings();
    if (findings || recording.open_pairs())
      guarded([&] { offer_reruns(recording, options, input, traces ? &*traces : nullptr, relay); });
    if (!findings) guarded([&] { recording.drop_if_clean(); });
    if (!options.json.empty()) guarded([&] { write_json_file(recording.report(), options.json); });
    if (recording.writer() != nullptr && !options.rerun.keep_core) {
      guarded([&] { supervise::drop_large_dumps(recording.session(), *recording.writer()); });
    }
  }
  if (findings && options.error_exit_status) return *options.error_exit_status;
  if (end.signal && !sent.contains(*end.signal) && options.verbosity != report::Verbosity::quiet) {
    tell_signal(*end.signal);
  }
  launch::exit_like(end);
}

}  // namespace cudadiag::command
