#include "supervise/reruns/replays.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

#include "analyse/cuda_errors.h"
#include "base/demangle.h"
#include "replay/launch_folder.h"
#include "session/notes/replay_tally.h"
#include "session/notes/saved_call.h"
#include "session/process_record.h"
#include "session/processes.h"
#include "supervise/launch_player.h"
#include "supervise/toolkit.h"
#include "symbolize/device_testimony.h"

namespace cudadiag::supervise {
namespace {

constexpr std::size_t kOutputKept = 64u << 10;

}  // namespace

std::optional<RerunProblem> replay(session::Session& session, session::SessionWriter& writer,
                                   const analyse::Analysis& analysis, std::chrono::milliseconds patience,
                                   launch::SignalRelay& relay) {
  using Kind = RerunProblem::Kind;
  const auto confirmed = std::find_if(analysis.failures.begin(), analysis.failures.end(),
                                      [](const analyse::Failure& failure) { return failure.again_process != nullptr; });
  if (confirmed == analysis.failures.end()) return RerunProblem{Kind::nothing_confirmed};
  session::Pass* pass = session::rerun_of(session, confirmed->again_process);
  if (pass == nullptr) return std::nullopt;
  const auto folder = session::saved_call_folder(session.folder / pass->folder, confirmed->again_process->pid);
  const auto call = session::read_saved_call(folder);
  if (!call) return RerunProblem{Kind::nothing_saved};
  const auto place = session::saved_call_folder(writer.folder() / pass->folder, confirmed->again_process->pid);
  if (const auto failure = writer.store_text(place / session::kReplayScriptFile, kReplayScript)) {
    return RerunProblem{Kind::not_stored, *failure};
  }
  const ToolRun run = run_tool({call->python, (folder / session::kReplayScriptFile).string()}, patience, relay);
  if (!run.obstacle.empty()) return RerunProblem{Kind::replay_not_started, {run.obstacle, ""}};
  writer.store_text(place / session::kOutputFile, std::string_view(run.output).substr(0, kOutputKept));
  pass->replay = session::Witness{run.end, run.cut_short, run.seconds};
  if (const auto failure = writer.store_manifest(session.manifest)) return RerunProblem{Kind::not_stored, *failure};
  return std::nullopt;
}

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr unsigned kReplays = 20;
constexpr std::chrono::seconds kLongest{60};  // for all replays together

struct Found {
  fs::path folder;  // relative to the session's folder
  const session::ProcessRecord* record = nullptr;
};

// Searches the latest pass first.
std::optional<Found> find_launch(const session::Session& session) {
  for (std::size_t i = std::min(session.reruns.size(), session.manifest.passes.size() - 1); i > 0; --i) {
    for (const session::Process& process : session.reruns[i - 1]) {
      fs::path folder = session::saved_launch_folder(session.manifest.passes[i].folder, process.pid);
      if (replay::holds_launch(session.folder / folder)) return Found{std::move(folder), &process.record};
    }
  }
  return std::nullopt;
}

std::optional<replay::Instruction> instruction_of(const session::Session& session) {
  const symbolize::DeviceTestimony testimony = symbolize::device_testimony(session);
  if (!testimony.failure) return std::nullopt;
  const evidence::CodePlace& place = testimony.failure->place;
  if (place.function.empty()) return std::nullopt;
  replay::Instruction instruction{place.function, place.offset};
  if (!place.lines.empty()) {
    instruction.source = {place.lines.front().file, place.lines.front().function, place.lines.front().line};
  }
  return instruction;
}

replay::Surroundings surroundings_of(const session::Session& session, diagnose::SessionState& state) {
  replay::Surroundings surroundings;
  for (const diagnose::Finding& finding : state.diagnosis().findings) {
    if (!finding.launch || finding.launch->mangled.empty()) continue;
    surroundings.demangled = base::demangle(finding.launch->mangled);
    surroundings.failure.name = std::string(analyse::cuda_error(finding.code).driver_name);
    surroundings.failure.line = {finding.location.file, finding.location.function,
                                 static_cast<std::uint32_t>(std::max(finding.location.line, 0))};
    break;
  }
  surroundings.failure.instruction = instruction_of(session);
  return surroundings;
}

// Replays only on the GPU of the launch. That GPU has the same number in any process with the same
// CUDA_VISIBLE_DEVICES.
session::ReplayTally replay_often(const replay::LaunchFolder& folder, const std::string& visible,
                                  launch::SignalRelay& relay) {
  session::ReplayTally tally = replay::tally_for(folder.launch());
  if (folder.launch().gpu.bus.empty()) return tally.why = "the program's GPU is unknown", tally;
  PlaySettings settings;
  settings.gpu = {static_cast<int>(folder.launch().device), folder.launch().gpu.bus, true, visible};
  LaunchPlayer player(folder, relay, settings);
  const auto deadline = Clock::now() + kLongest;
  while (tally.runs < kReplays && Clock::now() < deadline && !relay.interrupted()) {
    const replay::Run run = player.play();
    replay::add(tally, run);
    if (run.outcome == replay::Outcome::impossible || run.outcome == replay::Outcome::hung) break;
  }
  return tally;
}

}  // namespace

std::optional<RerunProblem> try_saved_launch(session::Session& session, diagnose::SessionState& state,
                                             session::SessionWriter& writer, launch::SignalRelay& relay) {
  using Kind = RerunProblem::Kind;
  const auto place = find_launch(session);
  if (!place) return RerunProblem{Kind::no_launch_saved};
  const fs::path path = session.folder / place->folder;
  replay::Surroundings surroundings = surroundings_of(session, state);
  surroundings.bus_of = [&](std::uint32_t device) { return session::pci_bus_id(*place->record, device); };
  const std::string visible = session::value_of(*place->record, session::Property::visible_devices);
  if (const auto failure = replay::complete_folder(path, surroundings)) {
    return RerunProblem{Kind::not_stored, *failure};
  }
  const auto folder = replay::LaunchFolder::open(path);
  if (const auto* failure = std::get_if<base::Error>(&folder)) return RerunProblem{Kind::not_stored, *failure};
  const session::ReplayTally tally = replay_often(std::get<replay::LaunchFolder>(folder), visible, relay);
  const fs::path file = writer.folder() / place->folder / session::kReplayTallyFile;
  if (const auto failure = writer.store_text(file, session::write_replay_tally(tally))) {
    return RerunProblem{Kind::not_stored, *failure};
  }
  state.advance();
  return std::nullopt;
}

}  // namespace cudadiag::supervise
