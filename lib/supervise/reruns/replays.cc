#include "supervise/reruns/replays.h"

#include <algorithm>
#include <string_view>
#include <system_error>

#include "analyse/cuda_errors.h"
#include "base/demangle.h"
#include "evidence/testimony.h"
#include "session/pass_files.h"
#include "session/plain_file.h"
#include "session/process_record.h"
#include "symbolize/device_testimony.h"

namespace cudadiag::supervise {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostAnswer = std::uint64_t{16} << 20;
constexpr std::uint64_t kMostLog = std::uint64_t{4} << 20;
constexpr const char* kDumpFile = "gpu.core";

std::optional<replay::Dumped> failure_in(const fs::path& dump) {
  std::error_code error;
  if (dump.empty() || !fs::exists(dump, error)) return std::nullopt;
  const auto read = evidence::read_core(dump.string());
  const auto* testimony = std::get_if<evidence::Testimony>(&read);
  if (testimony == nullptr || !testimony->failure || testimony->failure->place.function.empty()) return std::nullopt;
  const evidence::CodePlace& place = testimony->failure->place;
  replay::Instruction instruction{place.function, place.offset};
  if (!place.lines.empty()) {
    instruction.source = {place.lines.front().file, place.lines.front().function, place.lines.front().line};
  }
  return replay::Dumped{std::move(instruction), testimony->failure->exception};
}

}  // namespace

LaunchPlayer::LaunchPlayer(const replay::LaunchFolder& folder, launch::SignalRelay& relay, PlaySettings settings)
    : folder_(folder), relay_(relay), settings_(settings) {}

std::vector<std::string> LaunchPlayer::command(const Order& order, const fs::path& answer) const {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  std::vector<std::string> words = order.under;
  words.insert(words.end(), {self.string(), kReplayChild, folder_.path().string(), "--answer", answer.string(),
                             "--device", std::to_string(order.gpu.device)});
  if (!order.gpu.bus.empty()) words.push_back("--bus=" + order.gpu.bus);
  if (order.gpu.sets_visible)
    words.push_back("--visible=" + (order.gpu.visible.empty() ? kEveryGpu : order.gpu.visible));
  if (order.tight) words.push_back("--tight");
  if (fixed_) words.push_back("--fixed");
  if (!order.outputs.empty()) words.insert(words.end(), {"--outputs", order.outputs.string()});
  if (!order.dump.empty()) words.insert(words.end(), {"--dump", order.dump.string()});
  for (const std::uint32_t block : order.without) words.insert(words.end(), {"--without", std::to_string(block)});
  return words;
}

replay::Run LaunchPlayer::run(const Order& order) {
  if (scratch_.path().empty()) return {replay::Outcome::impossible, 0, "cannot create a temporary folder", {}, {}};
  const fs::path answer = scratch_.path() / ("answer-" + std::to_string(++runs_));
  const ToolRun child = run_tool(command(order, answer), settings_.patience, relay_);
  if (!child.obstacle.empty()) return {replay::Outcome::impossible, 0, child.obstacle, {}, {}};
  latest_ = replay::read_answer(session::read_plain_file(answer, kMostAnswer).value_or(""));
  auto dumped = failure_in(order.dump);
  scratch_.remove(answer.filename().string());
  if (!order.dump.empty()) scratch_.remove(order.dump.filename().string());
  return replay::judge(folder_.launch(), latest_, !child.cut_short.empty(), std::move(dumped));
}

// If the driver did not grant all addresses, tries again without address randomisation.
replay::Run LaunchPlayer::run_at_old_addresses(const Order& order) {
  replay::Run done = run(order);
  const bool moved = latest_.placed < latest_.placeable;
  if (!moved || fixed_tried_ || done.outcome == replay::Outcome::hung) return done;
  fixed_tried_ = fixed_ = true;
  const replay::Answer before = latest_;
  replay::Run again = run(order);
  if (latest_.placed > before.placed) return again;
  fixed_ = false;
  latest_ = before;
  return done;
}

// Requests no dump from the first replay: after a dump, the driver kills the process before it can report the error.
// The second replay leaves a dump. Later replays leave dumps too, which must show the same exception and instruction as
// the dump of the second replay. A launch that fails without a dump sometimes succeeds when a dump is requested. On a
// busy H200, this happened in half of all launches whose failing warps had exited. Only a replay without a dump can
// therefore show that the launch does not fail.
replay::Run LaunchPlayer::play(const std::vector<std::uint32_t>& without) {
  Order order{settings_.gpu, false, without, {}, {}, {}};
  if (failure_) {
    order.dump = scratch_.path() / kDumpFile;
    replay::Run done = run_at_old_addresses(order);
    if (done.outcome != replay::Outcome::did_not_fail) return replay::judged_by(*failure_, std::move(done));
    order.dump.clear();
    return run(order);
  }
  replay::Run done = run_at_old_addresses(order);
  const auto& saved = folder_.launch().failure;
  const bool is_known = saved && saved->instruction && dumps_;
  const bool may_be_same =
      done.outcome == replay::Outcome::as_it_did || replay::may_be_same_assertion(folder_.launch(), done);
  return is_known && may_be_same ? with_instruction(std::move(done), order) : done;
}

// `run` is a replay that may have reproduced the failure. Replays the launch once more to find the failing instruction.
replay::Run LaunchPlayer::with_instruction(replay::Run run, Order order) {
  using replay::Outcome;
  order.dump = scratch_.path() / kDumpFile;
  replay::Run again = this->run(order);
  if (again.dumped) {
    run.outcome = again.outcome;
    run.dumped = again.dumped;
    if (run.outcome == Outcome::as_it_did) failure_ = std::move(again.dumped);
    return run;
  }
  if (again.outcome == Outcome::hung || again.outcome == Outcome::otherwise) return again;
  dumps_ = again.outcome == Outcome::did_not_fail;  // the next replay may leave a dump
  return run;
}

replay::Run LaunchPlayer::play_for_outputs(const fs::path& outputs, const replay::GpuChoice& gpu) {
  return run({gpu, false, {}, outputs, {}, {}});
}

replay::Run LaunchPlayer::play_sanitized(SanitizerTool tool, const std::string& sanitizer, std::string& log) {
  const fs::path file = scratch_.path() / "sanitizer.log";
  scratch_.remove(file.filename().string());
  Order order{settings_.gpu, true, {}, {}, {}, {}};
  order.under = sanitizer_command(sanitizer, tool, file, {}, {});
  replay::Run done = run(order);
  log = session::read_plain_file(file, kMostLog).value_or("");
  return done;
}

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
