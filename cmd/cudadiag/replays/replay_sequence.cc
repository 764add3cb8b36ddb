#include "replays/replay_sequence.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "base/plain_folder.h"
#include "evidence/tools/sanitizer_text.h"
#include "launch/process.h"
#include "replay/verdict.h"
#include "supervise/tools/external_tools.h"

namespace cudadiag::command {
namespace {

namespace fs = std::filesystem;
using base::Error;
using base::Result;
using replay::Outcome;
using supervise::SanitizerTool;

constexpr unsigned kMostReplays = 2000;  // per search

// Returns the "========= " lines from the log of a tool for which we have no parser.
std::vector<std::string> record_lines(const std::string& log) {
  constexpr std::size_t kMost = 24;
  std::vector<std::string> lines;
  std::istringstream text(log);
  for (std::string line; std::getline(text, line) && lines.size() < kMost;) {
    const std::string_view start = "========= ";
    if (!line.starts_with(start) || line.find("COMPUTE-SANITIZER") != std::string::npos) continue;
    lines.push_back(line.substr(start.size()));
  }
  return lines;
}

class Replaying {
 public:
  Replaying(const replay::LaunchFolder& folder, const ReplayPlan& plan, supervise::LaunchPlayer& player)
      : folder_(folder), plan_(plan), player_(player) {
    result_.tally = replay::tally_for(folder.launch());
  }

  Result<ReplayResult> run() && {
    const auto failure = plan_.tool ? sanitize(*plan_.tool) : plan_.compare ? compare() : repeat();
    if (failure) return *failure;
    return std::move(result_);
  }

 private:
  std::optional<Error> repeat() {
    for (unsigned i = 0; i < plan_.times && !launch::asked_to_end(); ++i) {
      const replay::Run done = player_.play();
      replay::add(result_.tally, done);
      if (i == 0) result_.first = done;
      if (done.outcome == Outcome::impossible) break;
    }
    return plan_.minimise ? minimise() : std::nullopt;
  }

  std::optional<Error> sanitize(SanitizerTool tool) {
    const std::string sanitizer = supervise::find_sanitizer();
    if (sanitizer.empty()) return Error{"compute-sanitizer is not installed here", "install the CUDA Toolkit"};
    std::string log;
    result_.first = player_.play_sanitized(tool, sanitizer, log);
    Sanitized found{tool, evidence::sanitizer_log(log), {}};
    if (tool != SanitizerTool::memcheck) found.lines = record_lines(log);
    result_.sanitized = std::move(found);
    return std::nullopt;
  }

  std::optional<Error> minimise() {
    if (result_.tally.as_it_did == 0)
      return Error{"cannot minimise the launch: the replay does not fail as the saved launch did",
                   "to replay it more often: cudadiag replay --times 20"};
    std::vector<std::uint32_t> blocks;
    for (std::size_t i = 0; i < folder_.launch().blocks.size(); ++i) {
      if (folder_.launch().blocks[i].contents) blocks.push_back(static_cast<std::uint32_t>(i));
    }
    const auto fails = [&](const std::vector<std::uint32_t>& without) {
      return !launch::asked_to_end() && player_.play(without).outcome == Outcome::as_it_did;
    };
    result_.smallest = replay::smallest_set(blocks, fails, kMostReplays);
    if (plan_.minimal.empty()) return std::nullopt;
    replay::SavedLaunch smaller = folder_.launch();
    const auto& needed = result_.smallest->needed;
    for (std::size_t i = 0; i < smaller.blocks.size(); ++i) {
      if (!std::binary_search(needed.begin(), needed.end(), i)) smaller.blocks[i].contents.reset();
    }
    return replay::copy_folder(folder_, std::move(smaller), plan_.minimal);
  }

  // Compares the memory contents after the first replay with those after each later replay.
  std::optional<Error> compare() {
    const base::ScratchFolder scratch("outputs");
    if (scratch.path().empty()) return Error{"cannot create a temporary folder", "set TMPDIR to a writable folder"};
    const auto outputs = [&](unsigned number) { return scratch.path() / std::to_string(number); };
    std::error_code error;
    const replay::GpuChoice here = chosen_gpu(folder_, plan_);
    const replay::GpuChoice there =
        plan_.compared_device ? replay::GpuChoice{static_cast<int>(*plan_.compared_device), {}, false, {}} : here;
    const auto play = [&](unsigned number, const replay::GpuChoice& gpu) {
      fs::create_directory(outputs(number), error);
      const replay::Run done = player_.play_for_outputs(outputs(number), gpu);
      replay::add(result_.tally, done);
      return done;
    };
    result_.first = play(0, here);
    const unsigned times = std::max(plan_.times, 2u);
    for (unsigned i = 1; i < times && result_.tally.impossible == 0 && !launch::asked_to_end(); ++i) {
      const replay::Run done = play(i, there);
      Compared compared{there, {}, {}};
      compared.obstacle = obstacle_to_comparing(done, here, there);
      if (compared.obstacle.empty()) {
        compared.comparison = replay::compare_outputs(folder_.launch(), outputs(0), outputs(i));
        if (!compared.comparison) compared.obstacle = "the memory contents after the launch could not be read";
      }
      scratch.remove(std::to_string(i));
      result_.compared.push_back(std::move(compared));
    }
    return std::nullopt;
  }

  // Returns why the outputs of `done` and the first replay cannot be compared; empty if they can.
  std::string obstacle_to_comparing(const replay::Run& done, const replay::GpuChoice& here,
                                    const replay::GpuChoice& there) const {
    const replay::Run& first = result_.first;
    if (done.outcome == Outcome::impossible) return fmt::format("{}: {}", replay::word(done.outcome), done.why);
    if (done.outcome != first.outcome) {
      return fmt::format("on GPU {} the launch {}, but on GPU {} it {}", words(there), replay::word(done.outcome),
                         words(here), replay::word(first.outcome));
    }
    for (const replay::Run* run : {&first, &done}) {
      if (run->answer.outputs) continue;
      if (run->outcome != Outcome::did_not_fail) return "a launch that fails leaves no memory to compare";
      return "the memory contents after the launch could not be stored: " + run->answer.cannot;
    }
    return "";
  }

  const replay::LaunchFolder& folder_;
  const ReplayPlan& plan_;
  supervise::LaunchPlayer& player_;
  ReplayResult result_;
};

}  // namespace

// On another host, the saved bus id may belong to a different GPU, so it is ignored.
replay::GpuChoice chosen_gpu(const replay::LaunchFolder& folder, const ReplayPlan& plan) {
  if (plan.device) return {static_cast<int>(*plan.device), {}, false, {}};
  return {0, folder.why_foreign().empty() ? folder.launch().gpu.bus : "", false, {}};
}

Result<ReplayResult> run_replays(const replay::LaunchFolder& folder, const ReplayPlan& plan,
                                 supervise::LaunchPlayer& player) {
  return Replaying(folder, plan, player).run();
}

bool reproduced(const ReplayPlan& plan, const ReplayResult& result) {
  if (result.sanitized) return result.sanitized->log.errors.value_or(0) > 0 || !result.sanitized->log.accesses.empty();
  if (plan.compare) {
    return std::any_of(result.compared.begin(), result.compared.end(),
                       [](const Compared& each) { return each.comparison && each.comparison->different > 0; });
  }
  return result.tally.as_it_did > 0;
}

}  // namespace cudadiag::command
