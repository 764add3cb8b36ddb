#include "replay/verdict.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "wire/cuda_codes.h"

namespace cudadiag::replay {
namespace {

constexpr base::Words<Outcome, 6> kOutcomes = {{
    {Outcome::as_it_did, "fails as it did"},
    {Outcome::otherwise, "fails otherwise"},
    {Outcome::did_not_fail, "does not fail"},
    {Outcome::hung, "hangs"},
    {Outcome::crashed, "crashes"},
    {Outcome::impossible, "could not be made"},
}};

constexpr std::pair<Outcome, unsigned session::ReplayTally::*> kCounts[] = {
    {Outcome::as_it_did, &session::ReplayTally::as_it_did},
    {Outcome::otherwise, &session::ReplayTally::otherwise},
    {Outcome::did_not_fail, &session::ReplayTally::did_not_fail},
    {Outcome::hung, &session::ReplayTally::hung},
    {Outcome::crashed, &session::ReplayTally::crashed},
    {Outcome::impossible, &session::ReplayTally::impossible},
};

bool same(const Instruction& a, const Instruction& b) { return a.function == b.function && a.offset == b.offset; }

}  // namespace

std::string_view word(Outcome outcome) { return base::word_of(kOutcomes, outcome); }

Run judge(const SavedLaunch& launch, const Answer& answer, bool cut_short, std::optional<Dumped> dumped) {
  Run run{Outcome::impossible, answer.refused.value_or(answer.result.value_or(0)), answer.cannot, std::move(dumped),
          answer};
  const SavedFailure saved = launch.failure.value_or(SavedFailure{});
  if (!answer.launching) {
    if (run.why.empty())
      run.why = cut_short ? "the replay was not ready in time" : "the replay's process ended before the launch";
    return run;
  }
  const bool ended = answer.result || answer.refused;
  if (!ended && !run.dumped) {
    run.outcome = cut_short ? Outcome::hung : Outcome::crashed;
  } else if (ended && run.code == 0) {
    run.outcome = Outcome::did_not_fail;
  } else {
    const bool is_comparable = saved.instruction && run.dumped;
    const bool is_same_place = is_comparable && same(*saved.instruction, run.dumped->instruction);
    const bool is_same_code = !ended || run.code == saved.code || (is_same_place && may_be_same_assertion(launch, run));
    run.outcome = is_same_code && (is_same_place || !is_comparable) ? Outcome::as_it_did : Outcome::otherwise;
  }
  return run;
}

// For a failed assertion, which is a trap, the driver may report 710 or 719, even for the same launch. If it writes a
// core dump, it usually reports 719 (measured with driver 580).
bool may_be_same_assertion(const SavedLaunch& launch, const Run& run) {
  return launch.failure && launch.failure->code == wire::cuda::kAssert && run.code == wire::cuda::kLaunchFailure;
}

Run judged_by(const Dumped& first, Run run) {
  if (run.outcome != Outcome::as_it_did) return run;
  const bool is_same =
      run.dumped && run.dumped->exception == first.exception && same(run.dumped->instruction, first.instruction);
  if (!is_same) run.outcome = Outcome::otherwise;
  return run;
}

session::ReplayTally tally_for(const SavedLaunch& launch) {
  session::ReplayTally tally;
  for (const Block& block : launch.blocks) {
    if (block.unsaved == Unsaved::no || block.reach == Reach::nothing) continue;
    tally.unsaved += block.bytes - (block.contents ? block.contents->bytes : 0);
  }
  tally.lacks_more = !launch.missing.empty();
  return tally;
}

void add(session::ReplayTally& tally, const Run& run) {
  ++tally.runs;
  if (tally.gpu.empty()) tally.gpu = run.answer.gpu;
  if (tally.why.empty() && run.outcome == Outcome::impossible) tally.why = run.why;
  for (const auto& [outcome, count] : kCounts) {
    if (run.outcome == outcome) ++(tally.*count);
  }
}

namespace {

std::string_view next_word(std::string_view& line) {
  const std::size_t blank = line.find(' ');
  const std::string_view word = line.substr(0, blank);
  line.remove_prefix(blank == std::string_view::npos ? line.size() : blank + 1);
  return word;
}

std::uint64_t number(std::string_view word, int base = 10) {
  std::uint64_t value = 0;
  std::from_chars(word.data(), word.data() + word.size(), value, base);
  return value;
}

void read_line(std::string_view line, Answer& answer) {
  const std::string_view key = next_word(line);
  if (key == "cannot") answer.cannot = std::string(line.substr(0, 1024));
  if (key == "gpu") answer.gpu = std::string(line.substr(0, kLongestBus));
  if (key == "launching") answer.launching = true;
  if (key == "only-reached") answer.only_reached = true;
  if (key == "outputs") answer.outputs = true;
  if (key == "refused") answer.refused = static_cast<std::uint32_t>(number(line));
  if (key == "result") answer.result = static_cast<std::uint32_t>(number(line));
  if (key == "rewritten") answer.rewritten = number(line);
  if (key == "placed") {
    answer.placed = number(next_word(line));
    next_word(line);  // "of"
    answer.placeable = number(line);
  }
  if (key == "block") {
    const std::uint64_t block = number(next_word(line));
    answer.moved[block] = number(line, 16);
  }
}

}  // namespace

Answer read_answer(std::string_view text) {
  Answer answer;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) break;  // the child died while writing this line
    read_line(text.substr(0, end), answer);
    text.remove_prefix(end + 1);
  }
  return answer;
}

namespace {

constexpr std::size_t kCompared = std::size_t{1} << 20;

bool compare_file(const std::filesystem::path& here, const std::filesystem::path& there, const Contents& contents,
                  std::size_t block, Comparison& result) {
  std::ifstream a(here, std::ios::binary), b(there, std::ios::binary);
  std::vector<char> of_a(kCompared), of_b(kCompared);
  for (std::uint64_t at = 0; at < contents.bytes;) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kCompared, contents.bytes - at));
    if (!a.read(of_a.data(), static_cast<std::streamsize>(size)) ||
        !b.read(of_b.data(), static_cast<std::streamsize>(size))) {
      return false;
    }
    result.compared += size;
    if (std::memcmp(of_a.data(), of_b.data(), size) != 0) {
      for (std::size_t i = 0; i < size; ++i) {
        if (of_a[i] == of_b[i]) continue;
        ++result.different;
        if (result.first) continue;
        result.first = FirstDifference{block, contents.from + at + i, static_cast<std::uint8_t>(of_a[i]),
                                       static_cast<std::uint8_t>(of_b[i])};
      }
    }
    at += size;
  }
  return true;
}

}  // namespace

std::optional<Comparison> compare_outputs(const SavedLaunch& launch, const std::filesystem::path& here,
                                          const std::filesystem::path& there) {
  Comparison result;
  for (std::size_t i = 0; i < launch.blocks.size(); ++i) {
    if (!launch.blocks[i].contents) continue;
    const std::string name = wire::saved_launch::kMemoryPrefix + std::to_string(i);
    if (!compare_file(here / name, there / name, *launch.blocks[i].contents, i, result)) return std::nullopt;
  }
  return result;
}

namespace {

std::vector<std::uint32_t> all_but(const std::vector<std::uint32_t>& all, const std::vector<std::uint32_t>& some) {
  std::vector<std::uint32_t> rest;
  std::set_difference(all.begin(), all.end(), some.begin(), some.end(), std::back_inserter(rest));
  return rest;
}

}  // namespace

// Tries to drop all blocks, then halves, then smaller and smaller parts. This is delta debugging without the step that
// tests each part alone.
Smallest smallest_set(const std::vector<std::uint32_t>& blocks,
                      const std::function<std::optional<bool>(const std::vector<std::uint32_t>& without)>& fails,
                      unsigned most) {
  std::vector<std::uint32_t> all = blocks;
  std::sort(all.begin(), all.end());
  Smallest result{all};
  std::size_t part = std::max<std::size_t>(result.needed.size(), 1);
  while (!result.needed.empty()) {
    bool any = false;
    for (std::size_t at = 0; at < result.needed.size();) {
      if (result.replays == most) return result.whole = false, result;
      std::vector<std::uint32_t> kept = result.needed;
      const auto begin = kept.begin() + static_cast<std::ptrdiff_t>(at);
      kept.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(part, kept.size() - at)));
      const std::optional<bool> failed = fails(all_but(all, kept));
      if (!failed) return result.whole = false, result;
      ++result.replays;
      if (*failed) {
        result.needed = std::move(kept);
        any = true;
      } else {
        at += part;
      }
    }
    if (part == 1 && !any) break;
    if (part > 1) part = (part + 1) / 2;
  }
  return result;
}

}  // namespace cudadiag::replay
