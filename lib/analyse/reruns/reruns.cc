#include "analyse/reruns/reruns.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "analyse/coverage_notes.h"
#include "analyse/ending.h"
#include "analyse/first_failure.h"
#include "analyse/reruns/same_code.h"
#include "analyse/site_keys.h"
#include "session/property.h"

namespace cudadiag::analyse {
namespace {

using session::Process;
using wire::site_key::Key;

// Returns the first failure of each process of the rerun: proven failures first, then by time.
std::vector<Failure> failures_of(const std::vector<Process>& processes) {
  std::vector<Failure> failures;
  for (const Process& process : processes) {
    if (auto failure = first_failure(process)) failures.push_back(std::move(*failure));
  }
  const auto rank = [](const Failure& failure) {
    const auto& record = failure.process->record;
    return std::tuple(failure.grade != Grade::proven, record.unix_seconds(record.frozen_ticks));
  };
  std::stable_sort(failures.begin(), failures.end(),
                   [&](const Failure& a, const Failure& b) { return rank(a) < rank(b); });
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
  Counterparts(const std::vector<Process>& first, const std::vector<Failure>& failures,
               const std::vector<Process>& again, const std::vector<Failure>& failures_again) {
    for (const Failure& failure : failures) first_.push_back(part_of(first, *failure.process));
    for (const Failure& failure : failures_again) again_.push_back(part_of(again, *failure.process));
  }

  bool may_match(std::size_t failure, std::size_t again) const {
    if (first_[failure] == again_[again]) return true;
    const auto has = [](const std::vector<Part>& parts, const Part& part) {
      return std::find(parts.begin(), parts.end(), part) != parts.end();
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
  return std::any_of(processes.begin(), processes.end(), [](const Process& process) {
    const auto& notes = process.record.notes;
    return std::any_of(notes.begin(), notes.end(),
                       [](const auto& note) { return note_code(note.code) == NoteCode::wait_given_up; });
  });
}

// Returns whether the process has an interpreter, but the hook neither ran nor left a note that says why.
bool hook_never_ran(const session::ProcessRecord& record) {
  const bool told = std::any_of(record.notes.begin(), record.notes.end(), [](const session::Note& note) {
    const NoteCode code = note_code(note.code);
    return code == NoteCode::python_hook_off || code == NoteCode::python_stacks_off;
  });
  return session::has(record, session::Property::python) && !session::has(record, session::Property::python_hook) &&
         !told;
}

// Adds notes that the first run did not have.
void add_notes(const std::vector<Process>& processes, const session::Pass& pass, std::size_t number,
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

// Returns the replay number of a graph, or the call number of another operation at its call site; 0 if unknown.
std::uint32_t number_of(const Candidate& candidate) {
  const session::Operation& operation = *candidate.operation;
  return operation.replay != 0 ? operation.replay : operation.site_ordinal;
}

constexpr const char* kSomeCall = "this line's operation";

// Returns "call 20 of this line (call 50 in the first run)". `first`: the calls of one line that may have failed in the
// first run. `complete`: all such calls are in `first`. `failure`: from a rerun.
std::string which_call(const std::vector<Candidate>& first, bool complete, Key site, const Failure& failure) {
  const Candidate& again = failure.candidates.front();
  const bool is_replay = again.operation->replay != 0;
  const std::uint32_t number = is_replay ? again.operation->replay : ordinal_again(failure, site);
  if (number == 0) return kSomeCall;
  const char* word = is_replay ? "replay" : "call";
  const std::string call = fmt::format("{} {} of {}", word, number, is_replay ? "the graph" : "this line");
  if (!complete) return call;
  const auto [least, most] = std::minmax_element(
      first.begin(), first.end(), [](const auto& a, const auto& b) { return number_of(a) < number_of(b); });
  const std::uint32_t from = number_of(*least), to = number_of(*most);
  if (from == number && to == number) return call;
  return from == to ? fmt::format("{} ({} {} in the first run)", call, word, from)
                    : fmt::format("{} (one of {}s {} to {} in the first run)", call, word, from, to);
}

// If the user edited the code that issued a candidate before the rerun, returns the edited file; otherwise "".
std::string rewritten_of(const Failure& failure, const session::Pass& pass) {
  if (pass.rewritten.empty() || failure.process == nullptr) return "";
  const auto is_rewritten = [&](const std::string& file) {
    return std::find(pass.rewritten.begin(), pass.rewritten.end(), file) != pass.rewritten.end();
  };
  const session::ProcessRecord& record = failure.process->record;
  for (const Candidate& candidate : failure.candidates) {
    const auto* site = session::by_id(record.sites, candidate.operation->site);
    const auto* python = site == nullptr ? nullptr : session::by_id(record.python_stacks, site->python);
    const auto* native = site == nullptr ? nullptr : session::by_id(record.native_stacks, site->native);
    for (std::size_t i = 0; python != nullptr && i < python->frames.size(); ++i) {
      const auto* code = session::by_id(record.codes, python->frames[i].code);
      if (code != nullptr && is_rewritten(code->file)) return code->file;
    }
    for (std::size_t i = 0; native != nullptr && i < native->frames.size(); ++i) {
      const auto* module = session::by_id(record.modules, native->frames[i].module);
      if (module != nullptr && is_rewritten(module->path)) return module->path;
    }
  }
  return "";
}

// If `again` shows that `failure` recurred in the rerun `pass`, updates `failure` and returns true.
bool confirm(Failure& failure, const Failure& again, const session::Pass& pass) {
  // Edited source may behave differently, even at the same line.
  if (!rewritten_of(failure, pass).empty()) return false;
  if (again.candidates.empty() || again.grade == Grade::suspected) return false;
  // Accepts an unproven failure only if the rerun waited for its operation. The rerun may have read values there that
  // explain the failure.
  if (again.grade == Grade::inferred && again.unproven.empty()) return false;
  auto [kept, very_call, other_way] = same_code(failure, again);
  if (kept.empty()) return false;
  if (again.grade == Grade::bracketed && failure.grade <= Grade::bracketed) return true;
  const std::string error = again.code == failure.code ? "" : fmt::format(" with code {}", again.code);
  const std::size_t candidates = failure.candidates.size() + failure.unlisted;
  const std::string those = candidates == 1 ? "" : fmt::format("one of {} candidates: ", candidates);
  if (again.grade == Grade::proven) {
    const Key site = SiteKeys(failure.process->record).of_site(kept.front().operation->site);
    const std::string which = other_way ? kSomeCall : which_call(kept, failure.unlisted == 0, site, again);
    failure.because = fmt::format("{}in a rerun, {} ran alone on the GPU and failed{}", those, which, error);
    if (other_way) failure.because.add("in the rerun, libraries reached the operation by a different path");
  } else if (!again.unproven.empty()) {
    failure.because = fmt::format("{}in a rerun, the same operation failed while cudadiag waited for it, but {}", those,
                                  again.unproven);
  } else {
    failure.because = fmt::format("{}in a rerun, only this operation could have been running", those);
  }
  failure.grade = again.grade;
  failure.call_not_known = !very_call;
  failure.candidates = std::move(kept);
  failure.again = again.candidates.front().operation;
  failure.again_process = again.process;
  return true;
}

// Lowers the grade if only one candidate remained, but a rerun failed at different code. Either the program behaves
// differently from run to run, or fewer operations of the first run had finished than its recording suggests.
void doubt(Failure& failure, const Failure& again) {
  const bool all_known = !again.candidates.empty() && again.unlisted == 0;
  if (failure.grade != Grade::bracketed || !all_known || shares_code(failure, again)) return;
  failure.grade = Grade::inferred;
  failure.because.add("but when a rerun failed, this operation could not have been running");
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
  return std::any_of(processes.begin(), processes.end(), [&](const Process& process) {
    const SiteKeys keys_again(process.record);
    return std::all_of(failure.candidates.begin(), failure.candidates.end(), [&](const Candidate& candidate) {
      const session::Operation& operation = *candidate.operation;
      const Key whole = keys.of_site(operation.site), hooked = keys.of_hooked_site(operation.site);
      const std::uint64_t least = std::max<std::uint64_t>(operation.site_ordinal, 1);
      return whole == 0 || issued_at(process.record, keys_again, whole, hooked) >= least;
    });
  });
}

Rerun::Outcome without_failure(const session::Pass& pass, const std::vector<Process>& processes,
                               const std::vector<Failure>& failures) {
  using Outcome = Rerun::Outcome;
  if (pass.cut_short) return Outcome::cut_short;
  const auto disabled = [](const Process& process) { return process.record.state == wire::area::State::disabled; };
  if (!processes.empty() && std::all_of(processes.begin(), processes.end(), disabled)) return Outcome::not_recorded;
  if (!pass.kept_from.empty()) return Outcome::kept_from;
  bool any = false;
  for (const Failure& failure : failures) {
    if (!is_asynchronous(failure.kind) || failure.candidates.empty()) continue;
    if (came_to(failure, processes)) return Outcome::did_not_fail;
    any = true;
  }
  return any ? Outcome::not_reached : Outcome::did_not_fail;
}

// Returns whether the hook may be the reason that the rerun did not fail. The hook uses a dispatch mode, and some of
// PyTorch's functions take a different path while a dispatch mode is active.
bool hook_may_be_why(const Rerun& rerun, const session::Pass& pass, const std::vector<Process>& processes) {
  if (!pass.values) return false;
  const bool stood = std::any_of(processes.begin(), processes.end(), [](const Process& process) {
    return session::has(process.record, session::Property::python_hook);
  });
  const bool saw_operators = std::any_of(processes.begin(), processes.end(), [](const Process& process) {
    return std::any_of(process.deliveries.begin(), process.deliveries.end(),
                       [](const session::Delivery& delivery) { return delivery.kind == session::DeliveryKind::call; });
  });
  if (rerun.outcome == Rerun::Outcome::did_not_fail) return saw_operators || (stood && rerun.end.bad);
  return rerun.outcome == Rerun::Outcome::not_reached && stood;
}

// Confirms failures of the first run that match failures of the rerun, `again`. Copies the best match to `judged`.
// Returns false if none matches.
bool confirm_all(const session::Pass& pass, const std::vector<Process>& first, std::vector<Failure>& failures,
                 const std::vector<Process>& processes, const std::vector<Failure>& again, Failure& judged) {
  const Counterparts counterparts(first, failures, processes, again);
  const Failure* known = nullptr;
  for (std::size_t i = 0; i < failures.size(); ++i) {
    if (!is_asynchronous(failures[i].kind)) continue;
    for (std::size_t j = 0; j < again.size(); ++j) {
      if (!counterparts.may_match(i, j) || !confirm(failures[i], again[j], pass)) continue;
      if (known == nullptr || again[j].grade < known->grade) known = &again[j];
      break;
    }
  }
  if (known != nullptr) judged = *known;
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

// Assumes that a pass of an unknown kind waited for operations, because only its recording shows what it did.
bool waits_for_operations(session::PassKind kind) {
  using session::PassKind;
  return kind == PassKind::confirm || kind == PassKind::record || kind == PassKind::other;
}

Rerun judge(const session::Pass& pass, const session::Pass& record, const std::vector<Process>& first,
            const std::vector<Process>& processes, std::vector<Failure>& failures) {
  Rerun rerun;
  rerun.end = ending(pass.end);
  rerun.other_text = std::any_of(failures.begin(), failures.end(),
                                 [&](const Failure& failure) { return !rewritten_of(failure, pass).empty(); });
  if (!waits_for_operations(pass.kind)) {
    rerun.outcome = Rerun::Outcome::not_watched;
    rerun.failed_unwatched = failed_unwatched(record, pass);
    return rerun;
  }
  for (Failure& failure : failures) {
    if (std::string file = rewritten_of(failure, pass); !file.empty()) failure.rewritten = std::move(file);
  }
  rerun.waits = waits_of(processes);
  rerun.gave_up = gave_up(processes);
  const std::vector<Failure> again = failures_of(processes);
  if (again.empty() && pass.failed_after) {
    rerun.outcome = Rerun::Outcome::not_recorded;  // the recording is lost, for example on a full disk
    return rerun;
  }
  if (again.empty()) {
    rerun.outcome = without_failure(pass, processes, failures);
    rerun.disturbed = hook_may_be_why(rerun, pass, processes);
    return rerun;
  }
  rerun.failure = again.front();
  const bool known = confirm_all(pass, first, failures, processes, again, *rerun.failure);
  const bool proven = rerun.failure->grade == Grade::proven;
  if (!known && !proven && !rerun.gave_up) {
    for (Failure& failure : failures) {
      if (rewritten_of(failure, pass).empty()) doubt(failure, *rerun.failure);
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

std::string how_it_ended(const Rerun& rerun) { return rerun.end.bad ? "with " + rerun.end.text : "without a failure"; }

// If a rerun that read no values did not fail either, reading values does not explain why other reruns did not fail.
void settle_disturbed(std::vector<Rerun>& reruns) {
  const auto same = [](const Rerun& one, const Rerun& next) {
    constexpr auto kPassed = Rerun::Outcome::did_not_fail;
    return one.disturbed && !next.disturbed && one.outcome == kPassed && next.outcome == kPassed;
  };
  if (std::adjacent_find(reruns.begin(), reruns.end(), same) == reruns.end()) return;
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
    const std::string what = one.outcome == Rerun::Outcome::did_not_fail
                                 ? "did not fail"
                                 : fmt::format("ended {} before it reached the failing call", how_it_ended(one));
    notes.push_back({NoteCode::values_disturb,
                     fmt::format("rerun {}: while cudadiag read values, the program {}; rerun {} read no values", i + 1,
                                 what, i + 2)});
  }
}

// Notes that a failure of the first run did not recur. `reruns` contains only reruns of unedited source.
void say_not_reproduced(const std::vector<Rerun>& reruns, Vanished vanished, Failure& failure) {
  const auto count = [&](Rerun::Outcome outcome) {
    return std::count_if(reruns.begin(), reruns.end(), [&](const Rerun& rerun) { return rerun.outcome == outcome; });
  };
  const auto passed = count(Rerun::Outcome::did_not_fail), short_of_it = count(Rerun::Outcome::not_reached);
  const auto judged = static_cast<std::ptrdiff_t>(reruns.size()) - count(Rerun::Outcome::cut_short) -
                      count(Rerun::Outcome::not_watched) - count(Rerun::Outcome::not_recorded) -
                      count(Rerun::Outcome::kept_from) - short_of_it;
  const auto again = std::count_if(reruns.begin(), reruns.end(), [](const Rerun& rerun) { return rerun.came_back(); });
  if (passed == 0 && again == 0 && short_of_it > 0) {
    const auto fell_short = [](const Rerun& some) { return some.outcome == Rerun::Outcome::not_reached; };
    auto rerun = std::find_if(reruns.begin(), reruns.end(),
                              [&](const Rerun& some) { return fell_short(some) && !some.disturbed; });
    if (rerun == reruns.end()) rerun = std::find_if(reruns.begin(), reruns.end(), fell_short);
    failure.because.add(fmt::format("a rerun{} ended {} before it reached this call",
                                    rerun->disturbed ? ", in which cudadiag read values," : "", how_it_ended(*rerun)));
  }
  if (passed == 0) return;
  if (again > 0) {
    failure.because.add(fmt::format("it failed in {} of {} runs", again + 1, judged + 1));
    return;
  }
  std::size_t waited = 0;
  bool gave_up = false;
  for (const Rerun& rerun : reruns) {
    waited += rerun.outcome == Rerun::Outcome::did_not_fail && rerun.waits > 0 ? 1 : 0;
    gave_up |= rerun.gave_up;
  }
  const auto runs = [](auto number) { return number == 1 ? "a rerun" : fmt::format("{} reruns", number); };
  const std::string others = under_mps(failure.process->record) ? ", or another process's fault" : "";
  if (gave_up) {
    failure.because.add(fmt::format("{} did not fail, but a wait in it took longer than --wait-limit", runs(passed)));
  } else if (waited == 0) {
    failure.because.add(fmt::format("{} reached this call, did not wait for it, and did not fail", runs(passed)));
  } else if (vanished == Vanished::comes_and_goes) {
    failure.because.add(
        fmt::format("{} did not fail, with or without waiting there: the failure is intermittent", runs(passed)));
  } else if (vanished == Vanished::race) {
    failure.because.add(fmt::format(
        "{} that waited there did not fail, and one that did not wait failed: likely a race{}", runs(waited), others));
  } else {
    failure.because.add(
        fmt::format("{} that waited there did not fail: a race, or an intermittent failure{}", runs(waited), others));
  }
}

}  // namespace

bool failed_alone(const Failure& failure) {
  const session::Operation* operation = failure.again;
  if (operation == nullptr && failure.candidates.size() == 1) operation = failure.candidates.front().operation;
  return failure.grade == Grade::proven && operation != nullptr && operation->kind != wire::operation::Kind::graph &&
         (operation->flags & wire::operation::kAlone) != 0;
}

void join_reruns(const session::Session& session, Analysis& analysis) {
  const std::size_t own = analysis.failures.size();
  const std::vector<Failure> as_first_run = analysis.failures;
  for (std::size_t i = 0; i < session.reruns.size() && i + 1 < session.manifest.passes.size(); ++i) {
    std::vector<Failure> first(analysis.failures.begin(), analysis.failures.begin() + static_cast<std::ptrdiff_t>(own));
    Rerun rerun = judge(session.manifest.passes[i + 1], session.manifest.passes.front(), session.processes,
                        session.reruns[i], first);
    std::copy(first.begin(), first.end(), analysis.failures.begin());
    if (rerun.outcome == Rerun::Outcome::other) {
      const Key key = lead_key(*rerun.failure);
      const auto shows_it = [&](const Failure& failure) {
        return lead_key(failure) == key && (failure.rewritten.empty() || !rerun.other_text);
      };
      if (std::none_of(analysis.failures.begin(), analysis.failures.end(), shows_it)) {
        Failure other = *rerun.failure;
        const bool unread = std::any_of(as_first_run.begin(), as_first_run.end(),
                                        [](const Failure& failure) { return failure.damaged; });
        const bool suspected = std::any_of(as_first_run.begin(), as_first_run.end(),
                                           [&](const Failure& failure) { return shares_code(failure, other); });
        other.because.prepend("in a rerun, ");
        other.because.add(rerun.other_text            ? "the rerun ran a different version of the source"
                          : suspected                 ? "the first run suspected it too"
                          : session.processes.empty() ? "the first run's recording is lost"
                          : unread                    ? "the first run's record of it is damaged"
                                                      : "the first run did not suspect it");
        analysis.failures.push_back(std::move(other));
      }
    }
    add_notes(session.reruns[i], session.manifest.passes[i + 1], i + 1, analysis.notes);
    analysis.reruns.push_back(std::move(rerun));
  }
  settle_disturbed(analysis.reruns);
  note_disturbed(analysis.reruns, analysis.notes);
  analysis.vanished = vanished(analysis.reruns);
  std::vector<Rerun> of_same_text;
  std::copy_if(analysis.reruns.begin(), analysis.reruns.end(), std::back_inserter(of_same_text),
               [](const Rerun& rerun) { return !rerun.other_text; });
  for (std::size_t i = 0; i < own; ++i) {
    if (is_asynchronous(analysis.failures[i].kind))
      say_not_reproduced(of_same_text, analysis.vanished, analysis.failures[i]);
  }
  // Failures with damaged records come last, after those that a rerun proved.
  std::stable_partition(analysis.failures.begin(), analysis.failures.end(),
                        [](const Failure& failure) { return !failure.damaged; });
}

}  // namespace cudadiag::analyse
