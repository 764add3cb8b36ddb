#include "commands/replay_results.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "analyse/error_codes.h"
#include "base/text.h"
#include "diagnose/words.h"
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

}  // namespace cudadiag::command
