#include <signal.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>

#include "commands.h"
#include "launch/process.h"
#include "launch/watcher.h"
#include "recording.h"
#include "terminal.h"

namespace cudadiag::command {
namespace {

using Clock = std::chrono::steady_clock;

// So long the target may say what it has to say itself before the report comes in between.
constexpr auto kCourtesy = std::chrono::seconds(1);

// Commands that run the program somewhere that neither our environment nor our memory reaches.
void advise_on_remote_commands(const std::string& program) {
  const std::string name = std::filesystem::path(program).filename().string();
  for (const char* remote : {"docker", "podman", "kubectl", "ssh", "srun", "apptainer", "singularity"}) {
    if (name != remote) continue;
    say(name + " starts the program elsewhere, where this recording may not reach; start cudadiag inside instead: " +
        name + " … cudadiag run -- COMMAND, or set there what cudadiag env prints");
  }
}

// Runs `step`; what goes wrong in a report must not keep the target's status from being handed on.
template <typename Step>
void guarded(const Step& step) {
  try {
    step();
  } catch (const std::exception& error) {
    say(std::string("the report failed: ") + error.what() + "; the session may still be read with cudadiag report");
  }
}

void wait_for_end(launch::Target& target, launch::SignalRelay& relay, Recording& recording) {
  std::optional<launch::Watcher> watcher;
  if (recording.arena() != nullptr) watcher.emplace(*recording.arena(), relay);
  std::optional<Clock::time_point> report_at;
  while (!target.reap()) {
    int patience = 1000;
    if (watcher && watcher->take_freeze() && !report_at) report_at = Clock::now() + kCourtesy;
    if (report_at) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*report_at - Clock::now()).count();
      if (left <= 0) {
        report_at.reset();
        guarded([&] { recording.report_freeze(); });
        continue;
      }
      patience = std::min(patience, static_cast<int>(left));
    }
    relay.wait(patience);
    for (const int signal : relay.take_signals()) target.forward(signal);
  }
}

}  // namespace

int run(const RunOptions& options) {
  advise_on_remote_commands(options.command.front());
  session::ProcessEnd end;
  bool findings = false;
  {
    Recording recording(options);
    launch::SignalRelay relay;
    auto spawned = launch::Target::spawn(options.command, recording.environment());
    if (const auto* failure = std::get_if<launch::SpawnFailure>(&spawned)) {
      recording.abandon();
      say(failure->failure);
      return failure->exit_status;
    }
    auto& target = std::get<launch::Target>(spawned);
    // Files that outgrow a limit are an error to be told, not a signal to die of. Set now, the target does not inherit
    // it.
    ::signal(SIGXFSZ, SIG_IGN);
    wait_for_end(target, relay, recording);
    end = target.end();
    guarded([&] { findings = recording.finish(end, target.ends()); });
  }
  if (findings && options.error_exit_status) return *options.error_exit_status;
  launch::exit_like(end);
}

}  // namespace cudadiag::command
