#include "analyse/reruns.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyse/degraded.h"
#include "analyse/first_failure.h"
#include "analyse/site_keys.h"

namespace cudadiag::analyse {
namespace {

using session::Process;
using wire::site_key::Key;

Key lead_key(const Failure& failure) {
  if (failure.candidates.empty()) return 0;
  return SiteKeys(failure.process->record).of_site(failure.candidates.front().operation->site);
}

// The earliest first failure of the rerun's processes.
std::optional<Failure> failure_of(const std::vector<Process>& processes) {
  std::optional<Failure> earliest;
  double earliest_at = 0;
  for (const Process& process : processes) {
    auto failure = first_failure(process);
    if (!failure) continue;
    const auto& record = process.record;
    const double at = record.unix_seconds(record.frozen_ticks);
    // A proof outweighs what merely came first.
    const bool better = !earliest || (failure->grade == Grade::proven) > (earliest->grade == Grade::proven) ||
                        (failure->grade == earliest->grade && at < earliest_at);
    if (!better) continue;
    earliest = std::move(failure);
    earliest_at = at;
  }
  return earliest;
}

std::uint64_t waits_of(const std::vector<Process>& processes) {
  std::uint64_t waits = 0;
  for (const Process& process : processes) waits += process.record.waits;
  return waits;
}

bool gave_up(const std::vector<Process>& processes) {
  return std::any_of(processes.begin(), processes.end(), [](const Process& process) {
    const auto& notes = process.record.notes;
    return std::any_of(notes.begin(), notes.end(), [](const auto& note) { return note.code == "wait-given-up"; });
  });
}

// There is an interpreter, and the hook neither ran nor said why not.
bool hook_never_ran(const session::ProcessRecord& record) {
  const bool told = std::any_of(record.notes.begin(), record.notes.end(), [](const session::Note& note) {
    return note.code == "python-hook-off" || note.code == "python-stacks-off";
  });
  return record.properties.contains("python") && !record.properties.contains("python.hook") && !told;
}

// What the first run has not said already.
void add_notes(const std::vector<Process>& processes, std::size_t number, std::vector<Note>& notes) {
  for (const Process& process : processes) {
    for (const Note& note : degraded_notes(process, processes.size() > 1)) {
      const auto same = [&](const Note& known) { return known.code == note.code && known.text == note.text; };
      if (std::any_of(notes.begin(), notes.end(), same)) continue;
      notes.push_back({note.code, fmt::format("rerun {}: {}", number, note.text)});
    }
    if (hook_never_ran(process.record)) {
      notes.push_back(
          {"python-hook-off", fmt::format("rerun {}: no values were taken: the main thread of process {} did "
                                          "not come back to the interpreter after CUDA was initialised",
                                          number, process.pid)});
    }
  }
}

// The Python hook stood behind it: its site has no native stack.
bool is_hooked(const Failure& failure) {
  const auto& record = failure.process->record;
  const auto* site = session::by_id(record.sites, failure.candidates.front().operation->site);
  return site != nullptr && site->native == 0 && record.properties.contains("python.hook");
}

// Which call of its site failed in the rerun. The site's calls before the hook took values are another site's there,
// with the key `whole`.
std::uint32_t ordinal_again(const Failure& again, Key whole) {
  std::uint64_t ordinal = again.candidates.front().operation->site_ordinal;
  if (!is_hooked(again)) return static_cast<std::uint32_t>(ordinal);
  const auto& record = again.process->record;
  const SiteKeys keys(record);
  for (std::uint32_t site = 1; site <= record.sites.size(); ++site) {
    if (keys.of_site(site) == whole) ordinal += record.sites[site - 1].operations;
  }
  return static_cast<std::uint32_t>(ordinal);
}

struct SameCode {
  std::vector<Candidate> candidates;
  bool very_call = false;  // it is the one candidate
};

// The candidates that were issued by the code that issued `again`: the very call if it is among them, else all. Counts
// differ between runs of programs with threads or random data.
SameCode same_code(const Failure& failure, const Failure& again) {
  const SiteKeys keys(failure.process->record);
  const Key key = lead_key(again);
  SameCode found;
  for (const Candidate& candidate : failure.candidates) {
    const std::uint32_t site = candidate.operation->site;
    if (keys.of_site(site) != key && (!is_hooked(again) || keys.of_hooked_site(site) != key)) continue;
    if (candidate.operation->site_ordinal == ordinal_again(again, keys.of_site(site))) return {{candidate}, true};
    found.candidates.push_back(candidate);
  }
  return found;
}

// Which replay of a graph, which call of any other line; 0: not known.
std::uint32_t number_of(const Candidate& candidate) {
  const session::Operation& operation = *candidate.operation;
  return operation.replay != 0 ? operation.replay : operation.site_ordinal;
}

// "call 20 of this line (in the first run call 50)"; `first` are calls of one line, all that can be the one if
// `complete`; `failure` is that of a rerun.
std::string which_call(const std::vector<Candidate>& first, bool complete, Key site, const Failure& failure) {
  const Candidate& again = failure.candidates.front();
  const bool is_replay = again.operation->replay != 0;
  const std::uint32_t number = is_replay ? again.operation->replay : ordinal_again(failure, site);
  if (number == 0) return "this line's operation";
  const char* word = is_replay ? "replay" : "call";
  const std::string call = fmt::format("{} {} of {}", word, number, is_replay ? "the graph" : "this line");
  if (!complete) return call;
  const auto [least, most] = std::minmax_element(
      first.begin(), first.end(), [](const auto& a, const auto& b) { return number_of(a) < number_of(b); });
  const std::uint32_t from = number_of(*least), to = number_of(*most);
  if (from == number && to == number) return call;
  return from == to ? fmt::format("{} (in the first run {} {})", call, word, from)
                    : fmt::format("{} (in the first run one of {}s {} to {})", call, word, from, to);
}

// True if `failure` is what the rerun saw too, and is now better known.
bool confirm(Failure& failure, const Failure& again) {
  // What was waited for under MPS is no proof, but what went into it is wanted all the same.
  const bool unproven = again.candidates.size() == 1 && under_mps(again.process->record);
  if (again.candidates.empty() || again.grade == Grade::suspected) return false;
  if (again.grade == Grade::inferred && !unproven) return false;
  auto [kept, very_call] = same_code(failure, again);
  if (kept.empty()) return false;
  if (again.grade == Grade::bracketed && failure.grade <= Grade::bracketed) return true;
  const std::string error = again.code == failure.code ? "" : fmt::format(" with code {}", again.code);
  const std::size_t candidates = failure.candidates.size() + failure.unlisted;
  const std::string those = candidates == 1 ? "" : fmt::format("one of {} candidates: ", candidates);
  if (again.grade == Grade::proven) {
    const Key site = SiteKeys(failure.process->record).of_site(kept.front().operation->site);
    failure.because = fmt::format("{}{} failed{} in a rerun while nothing else was running, and was waited for", those,
                                  which_call(kept, failure.unlisted == 0, site, again), error);
  } else if (unproven) {
    failure.because = fmt::format(
        "{}the same operation failed in a rerun, but under MPS the fault may be another "
        "process's each time",
        those);
  } else {
    failure.because = fmt::format("{}in a rerun it was the only operation that may have been running", those);
  }
  failure.grade = again.grade;
  failure.call_not_known = !very_call && failure.unlisted > 0;
  failure.candidates = std::move(kept);
  failure.again = again.candidates.front().operation;
  failure.again_process = again.process;
  return true;
}

bool shares_code(const Failure& failure, const Failure& again) {
  const SiteKeys keys(failure.process->record), keys_again(again.process->record);
  for (const Candidate& candidate : failure.candidates) {
    const std::uint32_t site = candidate.operation->site;
    const auto is_it = [&](const Candidate& other) {
      const Key key = keys_again.of_site(other.operation->site);
      return keys.of_site(site) == key || keys.of_hooked_site(site) == key;
    };
    if (std::any_of(again.candidates.begin(), again.candidates.end(), is_it)) return true;
  }
  return false;
}

// One operation was left here, and another run failed at none of its code: the program differs from run to run, or
// less had finished than was taken for finished.
void doubt(Failure& failure, const Failure& again) {
  const bool all_known = !again.candidates.empty() && again.unlisted == 0;
  if (failure.grade != Grade::bracketed || !all_known || shares_code(failure, again)) return;
  failure.grade = Grade::inferred;
  failure.because += "; but it was none of those that may have been running when a rerun failed";
}

Rerun judge(const session::Pass& pass, const std::vector<Process>& processes, std::vector<Failure>& failures) {
  Rerun rerun;
  if (pass.name == "device" || pass.name == "sanitize" || pass.name == "memory" || pass.name == "races") {
    rerun.outcome = Rerun::Outcome::not_watched;
    return rerun;
  }
  rerun.waits = waits_of(processes);
  rerun.gave_up = gave_up(processes);
  rerun.failure = failure_of(processes);
  if (!rerun.failure) {
    rerun.outcome = pass.cut_short.empty() ? Rerun::Outcome::did_not_fail : Rerun::Outcome::cut_short;
    return rerun;
  }
  bool known = false;
  for (Failure& failure : failures) known |= is_asynchronous(failure.kind) && confirm(failure, *rerun.failure);
  const bool proven = rerun.failure->grade == Grade::proven;
  if (!known && !proven && !rerun.gave_up) {
    for (Failure& failure : failures) doubt(failure, *rerun.failure);
  }
  if (known && !proven && under_mps(rerun.failure->process->record)) {
    rerun.outcome = Rerun::Outcome::unproven;
  } else {
    rerun.outcome = known && proven ? Rerun::Outcome::proven : proven ? Rerun::Outcome::other : Rerun::Outcome::failed;
  }
  return rerun;
}

// What reruns that did not fail say of the first run's failure.
void say_not_reproduced(const Analysis& analysis, Failure& failure) {
  const auto count = [&](Rerun::Outcome outcome) {
    return std::count_if(analysis.reruns.begin(), analysis.reruns.end(),
                         [&](const Rerun& rerun) { return rerun.outcome == outcome; });
  };
  const auto passed = count(Rerun::Outcome::did_not_fail);
  const auto judged = static_cast<std::ptrdiff_t>(analysis.reruns.size()) - count(Rerun::Outcome::cut_short) -
                      count(Rerun::Outcome::not_watched);
  const auto again = std::count_if(analysis.reruns.begin(), analysis.reruns.end(),
                                   [](const Rerun& rerun) { return rerun.came_back(); });
  if (passed == 0) return;
  if (again > 0) {
    failure.because += fmt::format("; it failed in {} of {} runs", again + 1, judged + 1);
    return;
  }
  std::uint64_t waits = 0;
  bool gave_up = false;
  for (const Rerun& rerun : analysis.reruns) {
    waits += rerun.waits;
    gave_up |= rerun.gave_up;
  }
  const std::string runs = passed == 1 ? "a rerun" : fmt::format("{} reruns", passed);
  if (gave_up) {
    failure.because += fmt::format("; {} did not fail, but there waiting was given up", runs);
  } else if (waits > 0) {
    failure.because += fmt::format("; {} that waited there did not fail: likely a race{}", runs,
                                   under_mps(failure.process->record) ? ", or another process's fault" : "");
  } else {
    failure.because += fmt::format("; {} did not fail, nor come to this line as the first run did", runs);
  }
}

}  // namespace

void join_reruns(const session::Session& session, Analysis& analysis) {
  const std::size_t own = analysis.failures.size();
  for (std::size_t i = 0; i < session.reruns.size() && i + 1 < session.manifest.passes.size(); ++i) {
    std::vector<Failure> first(analysis.failures.begin(), analysis.failures.begin() + static_cast<std::ptrdiff_t>(own));
    Rerun rerun = judge(session.manifest.passes[i + 1], session.reruns[i], first);
    std::copy(first.begin(), first.end(), analysis.failures.begin());
    if (rerun.outcome == Rerun::Outcome::other) {
      const Key key = lead_key(*rerun.failure);
      const bool told = std::any_of(analysis.failures.begin(), analysis.failures.end(),
                                    [&](const Failure& failure) { return lead_key(failure) == key; });
      if (!told) {
        Failure other = *rerun.failure;
        other.because = "in a rerun " + other.because + "; the first run did not suspect it";
        analysis.failures.push_back(std::move(other));
      }
    }
    add_notes(session.reruns[i], i + 1, analysis.notes);
    analysis.reruns.push_back(std::move(rerun));
  }
  for (std::size_t i = 0; i < own; ++i) {
    if (is_asynchronous(analysis.failures[i].kind)) say_not_reproduced(analysis, analysis.failures[i]);
  }
}

}  // namespace cudadiag::analyse
