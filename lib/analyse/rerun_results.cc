// Combines the failures of the reruns with those of the first run, and compares the reruns with each other.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <tuple>

#include "analyse/first_failure.h"
#include "analyse/reruns.h"
#include "analyse/site_keys.h"
#include "session/process_record.h"

namespace cudadiag::analyse {
namespace {

using session::Process;

// Returns whether the process has an interpreter, but the hook neither ran nor left a note that says why.
bool hook_never_ran(const session::ProcessRecord& record) {
  const bool told = std::ranges::any_of(record.notes, [](const session::Note& note) {
    const NoteCode code = note_code(note.code);
    return code == NoteCode::python_hook_off || code == NoteCode::python_stacks_off;
  });
  return session::has(record, session::Property::python) && !session::has(record, session::Property::python_hook) &&
         !told;
}

std::string how_it_ended(const Rerun& rerun) { return rerun.end.bad ? "with " + rerun.end.text : "without a failure"; }

std::ptrdiff_t count(const std::vector<Rerun>& reruns, Rerun::Outcome outcome) {
  return std::ranges::count(reruns, outcome, &Rerun::outcome);
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

// Returns what it means that no rerun failed, although `passed` of them reached the call. `mps`: the fault may have
// been in another process.
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

// Adds notes that the first run did not have. `number` is the number of the rerun, from 1.
void add_rerun_notes(const std::vector<Process>& processes, const session::Pass& pass, std::size_t number,
                     std::vector<Note>& notes) {
  const auto is_frozen = [](const Process& process) { return process.record.state == wire::area::State::frozen; };
  if (pass.failed_after && std::ranges::none_of(processes, is_frozen)) {
    notes.push_back({NoteCode::rerun_lost, fmt::format("rerun {} failed, but its recording is lost or was never "
                                                       "stored, so this report does not show what it proved",
                                                       number)});
  }
  for (const Process& process : processes) {
    for (const Note& note : coverage_notes(process, processes.size() > 1)) {
      const auto same = [&](const Note& known) { return known.code == note.code && known.text == note.text; };
      if (std::ranges::any_of(notes, same)) continue;
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

// If a rerun that read no values did not fail either, reading values does not explain why other reruns did not fail.
void settle_disturbed(std::vector<Rerun>& reruns) {
  const auto same = [](const Rerun& one, const Rerun& next) {
    constexpr auto kPassed = Rerun::Outcome::did_not_fail;
    return one.disturbed && !next.disturbed && one.outcome == kPassed && next.outcome == kPassed;
  };
  if (std::ranges::adjacent_find(reruns, same) == reruns.end()) return;
  for (Rerun& rerun : reruns) rerun.disturbed = false;
}

// Notes the difference between a rerun that read values and the next rerun, which read none.
void note_disturbed(const std::vector<Rerun>& reruns, std::vector<Note>& notes) {
  for (std::size_t i = 0; i + 1 < reruns.size(); ++i) {
    const Rerun &one = reruns[i], &next = reruns[i + 1];
    if (!one.disturbed || next.disturbed || one.outcome == next.outcome) continue;
    if (!next.came_back() && next.outcome != Rerun::Outcome::other && next.outcome != Rerun::Outcome::did_not_fail) {
      continue;
    }
    const bool fails = one.came_back() || one.outcome == Rerun::Outcome::other;
    const std::string what = one.outcome == Rerun::Outcome::did_not_fail ? "did not fail"
                             : fails                                     ? "failed in a different way"
                                     : fmt::format("ended {} before it reached the failing call", how_it_ended(one));
    notes.push_back({NoteCode::values_disturb,
                     fmt::format("rerun {}: while cudadiag {} values, the program {}; rerun {} {} no values", i + 1,
                                 one.traced ? "traced" : "read", what, i + 2, one.traced ? "traced" : "read")});
  }
}

// Adds to the failure's reasons that it did not recur. `reruns` contains only reruns of unedited source.
void say_not_reproduced(const std::vector<Rerun>& reruns, Vanished vanished, Failure& failure) {
  const auto passed = count(reruns, Rerun::Outcome::did_not_fail);
  const auto again =
      std::ranges::count_if(reruns, [](const Rerun& rerun) { return rerun.came_back() && !rerun.disturbed; });
  if (passed == 0 && again == 0) {
    say_not_reached(reruns, failure);
  } else if (passed > 0 && again > 0) {
    failure.evidence.add(fmt::format("it failed in {} of {} runs", again + 1, judged(reruns) + 1));
  } else if (passed > 0) {
    failure.evidence.add(meaning_of(reruns, passed, vanished, under_mps(failure.process->record)));
  }
}

using wire::site_key::Key;

// Returns the first failure of each process of the rerun: proven failures first, then by time.
std::vector<Failure> failures_of(const std::vector<Process>& processes) {
  std::vector<Failure> failures;
  for (const Process& process : processes) {
    if (auto failure = first_failure(process)) failures.push_back(std::move(*failure));
  }
  const auto rank = [](const Failure& failure) {
    const auto& record = failure.process->record;
    return std::tuple(!failure.evidence.proves(), record.unix_seconds(record.frozen_ticks));
  };
  std::ranges::stable_sort(failures, [&](const Failure& a, const Failure& b) { return rank(a) < rank(b); });
  return failures;
}

// Identifies a process in its run: by its rank, or by its index among the processes with the same command line.
using Part = std::tuple<std::optional<int>, std::vector<std::string>, std::size_t>;

Part part_of(const std::vector<Process>& processes, const Process& process) {
  if (process.rank) return {process.rank, {}, 0};
  std::size_t before = 0;
  for (const Process& other : processes) {
    if (&other == &process) break;
    before += !other.rank && other.argv == process.argv ? 1 : 0;
  }
  return {std::nullopt, process.argv, before};
}

// Determines which failures of the two runs may be the same. Two failures may match if their processes have the same
// Part. They may also match if neither of these processes failed in the other run, because workers may divide the work
// differently.
class Counterparts {
 public:
  Counterparts(const std::vector<Process>& first, std::span<const Failure> failures, const std::vector<Process>& again,
               std::span<const Failure> failures_again) {
    for (const Failure& failure : failures) first_.push_back(part_of(first, *failure.process));
    for (const Failure& failure : failures_again) again_.push_back(part_of(again, *failure.process));
  }

  bool may_match(std::size_t failure, std::size_t again) const {
    if (first_[failure] == again_[again]) return true;
    const auto has = [](const std::vector<Part>& parts, const Part& part) {
      return std::ranges::find(parts, part) != parts.end();
    };
    return !has(again_, first_[failure]) && !has(first_, again_[again]);
  }

 private:
  std::vector<Part> first_, again_;
};

std::uint64_t waits_of(const std::vector<Process>& processes) {
  std::uint64_t waits = 0;
  for (const Process& process : processes) waits += process.record.waits;
  return waits;
}

bool gave_up(const std::vector<Process>& processes) {
  return std::ranges::any_of(processes, [](const Process& process) {
    const auto& notes = process.record.notes;
    return std::ranges::any_of(notes, [](const auto& note) { return note_code(note.code) == NoteCode::wait_given_up; });
  });
}

// Returns how many operations the process issued at sites whose key is `one` or `other`.
std::uint64_t issued_at(const session::ProcessRecord& record, const SiteKeys& keys, Key one, Key other) {
  std::uint64_t issued = 0;
  for (std::uint32_t site = 1; site <= record.sites.size(); ++site) {
    const Key key = keys.of_site(site);
    if (key == one || key == other) issued += record.sites[site - 1].operations;
  }
  return issued;
}

// Returns whether a process of the rerun made every call that may have failed in the first run.
bool came_to(const Failure& failure, const std::vector<Process>& processes) {
  const SiteKeys keys(failure.process->record);
  return std::ranges::any_of(processes, [&](const Process& process) {
    const SiteKeys keys_again(process.record);
    return std::ranges::all_of(failure.candidates, [&](const Candidate& candidate) {
      const session::Operation& operation = *candidate.operation;
      const Key whole = keys.of_site(operation.site), hooked = keys.of_hooked_site(operation.site);
      const std::uint64_t least = std::max<std::uint64_t>(operation.site_ordinal, 1);
      return whole == 0 || issued_at(process.record, keys_again, whole, hooked) >= least;
    });
  });
}

Rerun::Outcome without_failure(const session::Pass& pass, const std::vector<Process>& processes,
                               std::span<const Failure> failures) {
  using Outcome = Rerun::Outcome;
  if (pass.cut_short) return Outcome::cut_short;
  const auto disabled = [](const Process& process) { return process.record.state == wire::area::State::disabled; };
  if (!processes.empty() && std::ranges::all_of(processes, disabled)) return Outcome::not_recorded;
  if (!pass.kept_from.empty()) return Outcome::kept_from;
  bool any = false;
  for (const Failure& failure : failures) {
    if (!is_asynchronous(failure.kind) || failure.candidates.empty()) continue;
    if (came_to(failure, processes)) return Outcome::did_not_fail;
    any = true;
  }
  return any ? Outcome::not_reached : Outcome::did_not_fail;
}

bool has_delivery(const std::vector<Process>& processes, session::DeliveryKind kind) {
  return std::ranges::any_of(processes, [&](const Process& process) {
    return std::ranges::any_of(process.deliveries, [&](const auto& delivery) { return delivery.kind == kind; });
  });
}

// Returns whether the hook may be the reason that the rerun did not fail. The hook uses a dispatch mode, and some of
// PyTorch's functions take a different path while a dispatch mode is active.
bool hook_may_be_why(const Rerun& rerun, const session::Pass& pass, const std::vector<Process>& processes) {
  if (rerun.traced) return true;
  if (!pass.values) return false;
  const bool stood = std::ranges::any_of(
      processes, [](const Process& process) { return session::has(process.record, session::Property::python_hook); });
  const bool saw_operators = has_delivery(processes, session::DeliveryKind::call);
  if (rerun.outcome == Rerun::Outcome::did_not_fail) return saw_operators || (stood && rerun.end.bad);
  return rerun.outcome == Rerun::Outcome::not_reached && stood;
}

// Confirms failures of the first run that match failures of the rerun, `again`. Copies the best match to `judged`.
// Returns false if none matches.
bool confirm_all(const session::Pass& pass, const std::vector<Process>& first, std::span<Failure> failures,
                 const std::vector<Process>& processes, const std::vector<Failure>& again, const CountedCalls& counted,
                 Failure& judged) {
  const Counterparts counterparts(first, failures, processes, again);
  const Failure* known = nullptr;
  bool is_one_kind = false;
  for (std::size_t i = 0; i < failures.size(); ++i) {
    if (!is_asynchronous(failures[i].kind)) continue;
    for (std::size_t j = 0; j < again.size(); ++j) {
      if (!counterparts.may_match(i, j) || !confirm(failures[i], again[j], pass, counted)) continue;
      if (known == nullptr || again[j].evidence.grade() < known->evidence.grade()) known = &again[j];
      is_one_kind |= are_of_one_kind(failures[i], again[j]);
      break;
    }
  }
  if (known != nullptr) judged = *known;
  if (known != nullptr && !is_one_kind) judged.unproven = "the errors are of different kinds";
  return known != nullptr;
}

// Returns whether a rerun without the recorder failed. Only a dump proves a failure, because a program may exit with
// any status for other reasons. If the first run exited with a failure, a rerun that exits with 0 proves that the
// failure did not recur.
std::optional<bool> failed_unwatched(const session::Pass& first, const session::Pass& pass) {
  if (!pass.dump.empty()) return true;
  if (pass.kind != session::PassKind::device || pass.cut_short || !pass.kept_from.empty() || !ending(first.end).bad)
    return std::nullopt;
  return pass.end.code == 0 ? std::optional(false) : std::nullopt;
}

// Assumes that a pass of an unknown kind waited for operations, because only its recording shows what it did.
bool waits_for_operations(session::PassKind kind) {
  using session::PassKind;
  return kind == PassKind::confirm || kind == PassKind::record || kind == PassKind::other;
}

// Returns whether a signal ended the rerun, probably while the driver wrote a GPU core dump.
bool ended_in_dump(const session::Pass& pass, const std::vector<Process>& processes) {
  const bool ended = pass.end.signal && !pass.cut_short;
  return !pass.dump.empty() || (ended && std::ranges::any_of(processes, [](const Process& process) {
                                  return session::awaited_core_dump(process.record);
                                }));
}

Rerun judge(const session::Pass& pass, const session::Pass& record, const std::vector<Process>& first,
            const std::vector<Process>& processes, std::span<Failure> failures, const CountedCalls& counted) {
  Rerun rerun;
  rerun.end = ending(pass.end);
  rerun.other_text =
      std::ranges::any_of(failures, [&](const Failure& failure) { return !rewritten_of(failure, pass).empty(); });
  if (!waits_for_operations(pass.kind)) {
    rerun.outcome = Rerun::Outcome::not_watched;
    rerun.failed_unwatched = failed_unwatched(record, pass);
    return rerun;
  }
  for (Failure& failure : failures) {
    if (std::string file = rewritten_of(failure, pass); !file.empty()) failure.rewritten = std::move(file);
  }
  rerun.traced = has_delivery(processes, session::DeliveryKind::checking);
  rerun.waits = waits_of(processes);
  rerun.gave_up = gave_up(processes);
  const std::vector<Failure> again = failures_of(processes);
  // The recording may be lost, for example on a full disk.
  if (again.empty() && (pass.failed_after || ended_in_dump(pass, processes))) {
    rerun.outcome = Rerun::Outcome::not_recorded;
    return rerun;
  }
  if (again.empty()) {
    rerun.outcome = without_failure(pass, processes, failures);
    rerun.disturbed = hook_may_be_why(rerun, pass, processes);
    return rerun;
  }
  rerun.failure = again.front();
  const bool known = confirm_all(pass, first, failures, processes, again, counted, *rerun.failure);
  const bool proven = rerun.failure->evidence.proves();
  rerun.disturbed = rerun.traced && !known;
  if (!known && !proven && !rerun.gave_up && !rerun.traced) {
    for (Failure& failure : failures) {
      if (rewritten_of(failure, pass).empty()) doubt(failure, *rerun.failure, pass);
    }
  }
  if (known && !rerun.failure->unproven.empty()) {
    rerun.outcome = Rerun::Outcome::unproven;
  } else if (proven) {
    rerun.outcome = known ? Rerun::Outcome::proven : Rerun::Outcome::other;
  } else {
    rerun.outcome = rerun.gave_up ? Rerun::Outcome::given_up : Rerun::Outcome::failed;
  }
  return rerun;
}

// Adds the failure of a rerun that failed at a different operation, unless the list already has it.
void add_other(const Rerun& rerun, const std::vector<Failure>& as_first_run, const session::Session& session,
               std::vector<Failure>& failures) {
  const Key key = lead_key(*rerun.failure);
  const auto shows_it = [&](const Failure& failure) {
    return lead_key(failure) == key && (failure.rewritten.empty() || !rerun.other_text);
  };
  if (std::ranges::any_of(failures, shows_it)) return;
  Failure other = *rerun.failure;
  const bool unread = std::ranges::any_of(as_first_run, &Failure::damaged);
  const bool suspected =
      std::ranges::any_of(as_first_run, [&](const Failure& failure) { return shares_code(failure, other); });
  other.evidence.prepend(rerun.other_text ? "in a rerun of an edited source, " : "in a rerun, ");
  if (!rerun.other_text) {
    other.evidence.add(suspected                   ? "the first run suspected it too"
                       : session.processes.empty() ? "the first run's recording is lost"
                       : unread                    ? "the first run's record of it is damaged"
                                                   : "the first run did not suspect it");
  }
  failures.push_back(std::move(other));
}

// Hooks may have seen nothing of a failure. The operation that a rerun by CUPTI proves then takes its place. Returns
// whether it did.
bool replace_unseen(Rerun& rerun, std::span<Failure> failures) {
  const auto unseen = std::ranges::find_if(failures, [&](const Failure& failure) {
    return failure.candidates.empty() && is_asynchronous(failure.kind) && failure.code == rerun.failure->code &&
           !rerun.other_text && hooks_saw_nothing(failure.process->record);
  });
  if (unseen == failures.end()) return false;
  *unseen = *rerun.failure;
  unseen->evidence.prepend("in a rerun that CUPTI observed, ");
  rerun.outcome = Rerun::Outcome::proven;
  return true;
}

}  // namespace

bool failed_alone(const Failure& failure) {
  const session::Operation* operation = failure.again;
  if (operation == nullptr && failure.candidates.size() == 1) operation = failure.candidates.front().operation;
  return failure.evidence.proves() && operation != nullptr && operation->kind != wire::operation::Kind::graph &&
         (operation->flags & wire::operation::kAlone) != 0;
}

Vanished vanished(const std::vector<Rerun>& reruns) {
  bool waited = false, failed_free = false, passed_free = false;
  for (const Rerun& rerun : reruns) {
    if (rerun.other_text || rerun.disturbed) continue;
    if (rerun.came_back()) return Vanished::no;
    failed_free |= rerun.failed_unwatched == true;
    passed_free |= rerun.failed_unwatched == false;
    if (rerun.outcome == Rerun::Outcome::did_not_fail && !rerun.gave_up) {
      (rerun.waits > 0 ? waited : passed_free) = true;
    }
  }
  if (!waited) return Vanished::no;
  return passed_free ? Vanished::comes_and_goes : failed_free ? Vanished::race : Vanished::open;
}

std::vector<Rerun> join_reruns(const session::Session& session, std::vector<Failure>& failures,
                               std::vector<Note>& notes, const CountedCalls& counted) {
  std::vector<Rerun> reruns;
  const std::size_t own = failures.size();
  const std::vector<Failure> as_first_run = failures;
  for (std::size_t i = 0; i < session.reruns.size() && i + 1 < session.manifest.passes.size(); ++i) {
    Rerun rerun = judge(session.manifest.passes[i + 1], session.manifest.passes.front(), session.processes,
                        session.reruns[i], std::span(failures).first(own), counted);
    if (rerun.outcome == Rerun::Outcome::other && !rerun.disturbed &&
        !replace_unseen(rerun, std::span(failures).first(own))) {
      add_other(rerun, as_first_run, session, failures);
    }
    add_rerun_notes(session.reruns[i], session.manifest.passes[i + 1], i + 1, notes);
    reruns.push_back(std::move(rerun));
  }
  settle_disturbed(reruns);
  note_disturbed(reruns, notes);
  std::vector<Rerun> of_same_text;
  std::copy_if(reruns.begin(), reruns.end(), std::back_inserter(of_same_text),
               [](const Rerun& rerun) { return !rerun.other_text; });
  for (std::size_t i = 0; i < own; ++i) {
    if (is_asynchronous(failures[i].kind)) say_not_reproduced(of_same_text, vanished(reruns), failures[i]);
  }
  // Failures with damaged records come last, after those that a rerun proved.
  std::stable_partition(failures.begin(), failures.end(), [](const Failure& failure) { return !failure.damaged; });
  return reruns;
}

}  // namespace cudadiag::analyse
