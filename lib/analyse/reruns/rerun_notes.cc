#include "analyse/reruns/rerun_notes.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyse/coverage_notes.h"
#include "analyse/first_failure.h"
#include "session/process_record.h"

namespace cudadiag::analyse {
namespace {

using session::Process;

// Returns whether the process has an interpreter, but the hook neither ran nor left a note that says why.
bool hook_never_ran(const session::ProcessRecord& record) {
  const bool told = std::any_of(record.notes.begin(), record.notes.end(), [](const session::Note& note) {
    const NoteCode code = note_code(note.code);
    return code == NoteCode::python_hook_off || code == NoteCode::python_stacks_off;
  });
  return session::has(record, session::Property::python) && !session::has(record, session::Property::python_hook) &&
         !told;
}

std::string how_it_ended(const Rerun& rerun) { return rerun.end.bad ? "with " + rerun.end.text : "without a failure"; }

std::ptrdiff_t count(const std::vector<Rerun>& reruns, Rerun::Outcome outcome) {
  return std::count_if(reruns.begin(), reruns.end(), [&](const Rerun& rerun) { return rerun.outcome == outcome; });
}

// Returns how many reruns show whether the failure recurs.
std::ptrdiff_t judged(const std::vector<Rerun>& reruns) {
  auto number = static_cast<std::ptrdiff_t>(reruns.size());
  using enum Rerun::Outcome;
  for (const auto outcome : {cut_short, not_watched, not_recorded, kept_from, not_reached}) {
    number -= count(reruns, outcome);
  }
  return number;
}

// Prefers a rerun that was not disturbed.
void say_not_reached(const std::vector<Rerun>& reruns, Failure& failure) {
  const Rerun* ended = nullptr;
  for (const Rerun& rerun : reruns) {
    if (rerun.outcome != Rerun::Outcome::not_reached) continue;
    if (ended == nullptr || (ended->disturbed && !rerun.disturbed)) ended = &rerun;
  }
  if (ended == nullptr) return;
  failure.evidence.add(fmt::format("a rerun{} ended {} before it reached this call",
                                   ended->disturbed ? ", in which cudadiag read values," : "", how_it_ended(*ended)));
}

// Returns what it means that no rerun failed, although `passed` of them reached the call. `mps`: the fault may have been
// in another process.
std::string meaning_of(const std::vector<Rerun>& reruns, std::ptrdiff_t passed, Vanished vanished, bool mps) {
  std::size_t waited = 0;
  bool gave_up = false;
  for (const Rerun& rerun : reruns) {
    waited += rerun.outcome == Rerun::Outcome::did_not_fail && rerun.waits > 0 ? 1 : 0;
    gave_up |= rerun.gave_up;
  }
  const auto runs = [](auto number) { return number == 1 ? "a rerun" : fmt::format("{} reruns", number); };
  if (gave_up) return fmt::format("{} did not fail, but a wait in it took longer than --wait-limit", runs(passed));
  if (waited == 0) return fmt::format("{} reached this call, did not wait for it, and did not fail", runs(passed));
  if (vanished == Vanished::comes_and_goes) {
    return fmt::format("{} did not fail, with or without waiting there: the failure is intermittent", runs(passed));
  }
  const char* others = mps ? ", or another process's fault" : "";
  if (vanished == Vanished::race) {
    return fmt::format("{} that waited there did not fail, and one that did not wait failed: likely a race{}",
                       runs(waited), others);
  }
  return fmt::format("{} that waited there did not fail: a race, or an intermittent failure{}", runs(waited), others);
}

}  // namespace

void add_rerun_notes(const std::vector<Process>& processes, const session::Pass& pass, std::size_t number,
                     std::vector<Note>& notes) {
  const auto is_frozen = [](const Process& process) { return process.record.state == wire::area::State::frozen; };
  if (pass.failed_after && std::none_of(processes.begin(), processes.end(), is_frozen)) {
    notes.push_back({NoteCode::rerun_lost, fmt::format("rerun {} failed, but its recording is lost or was never "
                                                       "stored, so this report does not show what it proved",
                                                       number)});
  }
  for (const Process& process : processes) {
    for (const Note& note : coverage_notes(process, processes.size() > 1)) {
      const auto same = [&](const Note& known) { return known.code == note.code && known.text == note.text; };
      if (std::any_of(notes.begin(), notes.end(), same)) continue;
      notes.push_back({note.code, fmt::format("rerun {}: {}", number, note.text)});
    }
    if (pass.values && hook_never_ran(process.record)) {
      notes.push_back(
          {NoteCode::python_hook_off, fmt::format("rerun {}: no values were read, because the main thread of process "
                                                  "{} did not return to the interpreter after CUDA was initialised",
                                                  number, process.pid)});
    }
  }
}

void settle_disturbed(std::vector<Rerun>& reruns) {
  const auto same = [](const Rerun& one, const Rerun& next) {
    constexpr auto kPassed = Rerun::Outcome::did_not_fail;
    return one.disturbed && !next.disturbed && one.outcome == kPassed && next.outcome == kPassed;
  };
  if (std::adjacent_find(reruns.begin(), reruns.end(), same) == reruns.end()) return;
  for (Rerun& rerun : reruns) rerun.disturbed = false;
}

void note_disturbed(const std::vector<Rerun>& reruns, std::vector<Note>& notes) {
  for (std::size_t i = 0; i + 1 < reruns.size(); ++i) {
    const Rerun &one = reruns[i], &next = reruns[i + 1];
    if (!one.disturbed || next.disturbed || one.outcome == next.outcome) continue;
    if (!next.came_back() && next.outcome != Rerun::Outcome::other && next.outcome != Rerun::Outcome::did_not_fail) {
      continue;
    }
    const std::string what = one.outcome == Rerun::Outcome::did_not_fail
                                 ? "did not fail"
                                 : fmt::format("ended {} before it reached the failing call", how_it_ended(one));
    notes.push_back({NoteCode::values_disturb,
                     fmt::format("rerun {}: while cudadiag read values, the program {}; rerun {} read no values", i + 1,
                                 what, i + 2)});
  }
}

void say_not_reproduced(const std::vector<Rerun>& reruns, Vanished vanished, Failure& failure) {
  const auto passed = count(reruns, Rerun::Outcome::did_not_fail);
  const auto again = std::count_if(reruns.begin(), reruns.end(), [](const Rerun& rerun) { return rerun.came_back(); });
  if (passed == 0 && again == 0) {
    say_not_reached(reruns, failure);
  } else if (passed > 0 && again > 0) {
    failure.evidence.add(fmt::format("it failed in {} of {} runs", again + 1, judged(reruns) + 1));
  } else if (passed > 0) {
    failure.evidence.add(meaning_of(reruns, passed, vanished, under_mps(failure.process->record)));
  }
}

}  // namespace cudadiag::analyse
