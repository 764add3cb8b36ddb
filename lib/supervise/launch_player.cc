#include "supervise/launch_player.h"

#include <system_error>

#include "evidence/testimony.h"
#include "session/plain_file.h"
#include "supervise/toolkit.h"

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

}  // namespace cudadiag::supervise
