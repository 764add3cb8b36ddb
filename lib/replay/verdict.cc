#include "replay/verdict.h"

#include <fmt/core.h>

#include "base/words.h"

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

bool same(const Instruction& a, const Instruction& b) { return a.function == b.function && a.offset == b.offset; }

}  // namespace

std::string_view word(Outcome outcome) { return base::word_of(kOutcomes, outcome); }

Run judge(const SavedLaunch& launch, const Answer& answer, bool cut_short, std::optional<Instruction> instruction) {
  Run run{Outcome::impossible, answer.refused.value_or(answer.result.value_or(0)), answer.cannot,
          std::move(instruction), answer};
  const SavedFailure saved = launch.failure.value_or(SavedFailure{});
  if (!answer.launching) {
    if (run.why.empty()) run.why = cut_short ? "it was not ready in time" : "its process ended before the launch";
    return run;
  }
  const bool ended = answer.result || answer.refused;
  if (!ended && !run.instruction) {
    run.outcome = cut_short ? Outcome::hung : Outcome::crashed;
  } else if (ended && run.code == 0) {
    run.outcome = Outcome::did_not_fail;
  } else {
    const bool is_same_code = !ended || run.code == saved.code;
    const bool differs = saved.instruction && run.instruction && !same(*saved.instruction, *run.instruction);
    run.outcome = is_same_code && !differs ? Outcome::as_it_did : Outcome::otherwise;
  }
  return run;
}

void Tally::add(const Run& run) {
  ++runs;
  switch (run.outcome) {
    case Outcome::as_it_did:
      ++as_it_did;
      break;
    case Outcome::otherwise:
      ++otherwise;
      break;
    case Outcome::did_not_fail:
      ++did_not_fail;
      break;
    case Outcome::hung:
      ++hung;
      break;
    case Outcome::crashed:
      ++crashed;
      break;
    case Outcome::impossible:
      ++impossible;
      break;
  }
}

std::string sentence(const Tally& tally) {
  if (tally.runs == 0 || tally.impossible == tally.runs) return "the launch could not be made alone";
  const unsigned made = tally.runs - tally.impossible;
  if (tally.as_it_did > 0) {
    std::string text = fmt::format("reproduces alone: {} of {}", tally.as_it_did, made);
    if (tally.failed() > tally.as_it_did)
      text += fmt::format(", {} failed otherwise", tally.failed() - tally.as_it_did);
    return text;
  }
  if (tally.failed() > 0) return fmt::format("fails alone, but otherwise: {} of {}", tally.failed(), made);
  return "does not fail alone: it depends on what runs beside it (likely a race)";
}

}  // namespace cudadiag::replay
