#include "commands/replay_runs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <utility>

#include "analyse/error_codes.h"
#include "base/files.h"
#include "base/text.h"
#include "diagnose/words.h"
#include "launch/signals.h"
#include "report/finding_text.h"
#include "supervise/toolkit_programs.h"

namespace cudadiag::command {
namespace {

using Json = nlohmann::json;
using replay::Block;
using replay::Outcome;
using replay::SavedLaunch;

std::string error_words(std::uint32_t code) {
  const analyse::CudaError error = analyse::cuda_error(code);
  return fmt::format("{} ({})", error.title, code);
}

std::string place(const replay::SourcePlace& place) {
  return place.line == 0 ? "" : fmt::format("{}:{}", base::printable(place.file), place.line);
}

std::string instruction_words(const replay::Instruction& at) {
  const std::string line = place(at.source);
  return fmt::format("{}+{:#x}{}", base::printable(base::demangle(at.function)), at.offset,
                     line.empty() ? "" : " (" + line + ")");
}

// Returns text such as "variable counters" or "memory block 3 (4,096 bytes at 0x7f0000000000)".
std::string block_words(const SavedLaunch& launch, std::size_t index) {
  const Block& block = launch.blocks[index];
  if (!block.variable.empty()) return "variable " + base::printable(block.variable);
  return fmt::format("memory block {} ({} bytes at {:#x})", index, diagnose::thousands(block.bytes), block.address);
}

class Text {
 public:
  Text(const SavedLaunch& launch, const ReplayResult& result) : launch_(launch), result_(result) {}

  std::string write() {
    saved();
    memory();
    outcome();
    if (result_.tally.runs > 1) add("Alone", base::printable(session::sentence(result_.tally)));
    if (result_.sanitized && result_.first.outcome != Outcome::impossible) sanitized(*result_.sanitized);
    if (result_.smallest) smallest(*result_.smallest);
    for (const Compared& each : result_.compared) compared(each);
    return text_;
  }

 private:
  void add(std::string_view label, const std::string& line) { text_ += fmt::format("{:<9}{}\n", label, line); }

  void saved() {
    const std::string name = base::printable(launch_.demangled.empty() ? launch_.kernel : launch_.demangled);
    add("Launch", fmt::format("{}  grid {},{},{}  block {},{},{}", name, launch_.grid[0], launch_.grid[1],
                              launch_.grid[2], launch_.block[0], launch_.block[1], launch_.block[2]));
    if (!launch_.failure) return;
    const std::string line = place(launch_.failure->line);
    std::string words = error_words(launch_.failure->code) + (line.empty() ? "" : " in " + line);
    if (launch_.failure->instruction) words += ", at " + instruction_words(*launch_.failure->instruction);
    add("Saved", words);
  }

  void memory() {
    const replay::Answer& answer = result_.first.answer;
    if (!answer.launching) return;
    std::string words =
        fmt::format("{} of {} memory blocks at their original addresses", answer.placed, answer.placeable);
    if (answer.placed < answer.placeable) {
      words += answer.rewritten == 1
                   ? "; 1 pointer was rewritten in memory"
                   : fmt::format("; {} pointers were rewritten in memory", diagnose::thousands(answer.rewritten));
    }
    add("Memory", words);
    const auto missing = std::count_if(launch_.blocks.begin(), launch_.blocks.end(), [](const Block& block) {
      return block.unsaved != replay::Unsaved::no && block.reach != replay::Reach::nothing;
    });
    if (missing > 0) {
      add("",
          missing == 1
              ? "1 block was saved only in part or not at all; the missing parts are filled with zeros"
              : fmt::format("{} blocks were saved only in part or not at all; the missing parts are filled with zeros",
                            missing));
    }
    if (answer.only_reached) add("", "the GPU has no room for memory that nothing points to, so the replay omits it");
  }

  void outcome() {
    const replay::Run& run = result_.first;
    const bool is_unmade = result_.sanitized && run.outcome == Outcome::impossible;
    if (result_.tally.runs == 0 && !is_unmade) return;
    std::string words(replay::word(run.outcome));
    if (run.outcome == Outcome::impossible) words += ": " + base::printable(run.why);
    if (run.code != 0) words += ": " + error_words(run.code);
    if (run.dumped && run.code != 0) words += ", at " + instruction_words(run.dumped->instruction);
    add("Result", words);
  }

  void sanitized(const Sanitized& found) {
    const std::string_view tool = word(found.tool);
    if (!found.log.complaint.empty()) add(tool, base::printable(found.log.complaint));
    add(tool, found.log.errors ? report::counted(*found.log.errors, "error") : "did not finish");
    constexpr std::size_t kMost = 8;
    for (std::size_t i = 0; i < std::min(found.log.accesses.size(), kMost); ++i) access(found.log.accesses[i]);
    for (const std::string& line : found.lines) add("", base::printable(line));
  }

  // Adds a line about the access that compute-sanitizer reports. If the nearest allocation holds a saved block, names
  // the block.
  void access(const evidence::InvalidAccess& access) {
    std::string line = base::printable(evidence::sentence(access));
    if (access.nearest) {
      for (const auto& [index, address] : result_.first.answer.moved) {
        if (address == access.nearest->address && index < launch_.blocks.size()) {
          line += ": " + block_words(launch_, static_cast<std::size_t>(index));
        }
      }
    }
    add("", line);
    if (!access.file.empty()) add("", fmt::format("in {}:{}", base::printable(access.file), access.line));
  }

  void smallest(const replay::Smallest& found) {
    const auto all = std::count_if(launch_.blocks.begin(), launch_.blocks.end(),
                                   [](const Block& block) { return block.contents.has_value(); });
    add("Minimal", fmt::format("the launch still fails with the contents of only {} of {} memory blocks; ",
                               found.needed.size(), all) +
                       (found.whole ? "the search took " : "the search stopped after ") +
                       report::counted(found.replays, "replay"));
    constexpr std::size_t kMost = 16;
    for (std::size_t i = 0; i < std::min(found.needed.size(), kMost); ++i)
      add("", block_words(launch_, found.needed[i]));
  }

  void compared(const Compared& each) {
    const std::string label = "GPU " + command::words(each.gpu);
    if (!each.obstacle.empty()) return add("Compared", label + ": " + base::printable(each.obstacle));
    const replay::Comparison& found = *each.comparison;
    if (!found.first) {
      return add("Compared", fmt::format("{}: all {} bytes are equal", label, diagnose::thousands(found.compared)));
    }
    add("Compared", fmt::format("{}: {} of {} bytes differ", label, diagnose::thousands(found.different),
                                diagnose::thousands(found.compared)));
    add("",
        fmt::format("the first at byte {} of {}: {:#04x} instead of {:#04x}", diagnose::thousands(found.first->offset),
                    block_words(launch_, found.first->block), found.first->there, found.first->here));
  }

  const SavedLaunch& launch_;
  const ReplayResult& result_;
  std::string text_;
};

Json of(const std::optional<replay::Dumped>& failure) {
  if (!failure) return nullptr;
  const replay::Instruction& at = failure->instruction;
  return {{"function", at.function}, {"offset", at.offset}, {"file", at.source.file}, {"line", at.source.line}};
}

Json of(const std::optional<Sanitized>& found) {
  if (!found) return nullptr;
  Json accesses = Json::array();
  for (const evidence::InvalidAccess& access : found->log.accesses) {
    accesses.push_back({{"text", evidence::sentence(access)},
                        {"function", access.function},
                        {"offset", access.offset},
                        {"file", access.file},
                        {"line", access.line}});
  }
  return {{"tool", word(found->tool)},
          {"errors", found->log.errors ? Json(*found->log.errors) : Json(nullptr)},
          {"accesses", std::move(accesses)},
          {"lines", found->lines}};
}

Json of(const Compared& each) {
  Json first = nullptr;
  if (each.comparison && each.comparison->first) {
    first = {{"block", each.comparison->first->block}, {"offset", each.comparison->first->offset}};
  }
  return {{"device", each.gpu.bus.empty() ? Json(each.gpu.device) : Json(nullptr)},
          {"obstacle", each.obstacle.empty() ? Json(nullptr) : Json(each.obstacle)},
          {"compared", each.comparison ? each.comparison->compared : 0},
          {"different", each.comparison ? each.comparison->different : 0},
          {"first", std::move(first)}};
}

}  // namespace

std::string words(const replay::GpuChoice& gpu) {
  return gpu.bus.empty() ? std::to_string(gpu.device) : base::printable(gpu.bus);
}

std::string replay_text(const SavedLaunch& launch, const ReplayResult& result) { return Text(launch, result).write(); }

std::string replay_json(const replay::LaunchFolder& folder, const ReplayResult& result) {
  const session::ReplayTally& tally = result.tally;
  const replay::Answer& answer = result.first.answer;
  Json smallest = nullptr, compared = Json::array();
  if (result.smallest) {
    smallest = {
        {"needed", result.smallest->needed}, {"replays", result.smallest->replays}, {"whole", result.smallest->whole}};
  }
  for (const Compared& each : result.compared) compared.push_back(of(each));
  const Json json = {
      {"schema", "cudadiag.replay/1"},
      {"folder", folder.path().string()},
      {"kernel", folder.launch().kernel},
      {"outcome", tally.runs == 0 ? Json(nullptr) : Json(replay::word(result.first.outcome))},
      {"code", result.first.code},
      {"why", result.first.why},
      {"instruction", of(result.first.dumped)},
      {"runs",
       {{"made", tally.made()},
        {"as_it_did", tally.as_it_did},
        {"otherwise", tally.otherwise},
        {"did_not_fail", tally.did_not_fail},
        {"hung", tally.hung},
        {"crashed", tally.crashed},
        {"impossible", tally.impossible}}},
      {"gpu", answer.gpu},
      {"memory", {{"placed", answer.placed}, {"blocks", answer.placeable}, {"rewritten", answer.rewritten}}},
      {"sanitizer", of(result.sanitized)},
      {"minimal", std::move(smallest)},
      {"compared", std::move(compared)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

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
    const bool has_run = result_.tally.impossible == 0 && !launch::asked_to_end();
    return plan_.minimise && has_run ? minimise() : std::nullopt;
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
                   "to replay it more often: " + command_with_more_replays()};
    std::vector<std::uint32_t> blocks;
    for (std::size_t i = 0; i < folder_.launch().blocks.size(); ++i) {
      if (folder_.launch().blocks[i].contents) blocks.push_back(static_cast<std::uint32_t>(i));
    }
    const auto fails = [&](const std::vector<std::uint32_t>& without) {
      const bool failed = player_.play(without).outcome == Outcome::as_it_did;
      return launch::asked_to_end() ? std::nullopt : std::optional(failed);
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

  std::string command_with_more_replays() const {
    std::vector<std::string> words = plan_.given;
    std::erase_if(words, [](const std::string& word) { return word.starts_with("--times="); });
    words.push_back(fmt::format("--times={}", std::max(20u, std::min(plan_.times, kMostTimes / 10) * 10)));
    words.push_back(folder_.path().string());
    return "cudadiag " + diagnose::shell_line(words);
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
