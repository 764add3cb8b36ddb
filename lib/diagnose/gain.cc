#include "diagnose/gain.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "analyse/analysis.h"

namespace cudadiag::diagnose {
namespace {

bool same_place(const Location& a, const Location& b) {
  const bool same = a.file == b.file && a.line == b.line;
  return same && (a.line > 0 || (a.function == b.function && a.nearest().line == b.nearest().line));
}

bool was_possible(const Finding& before, const Finding& after) {
  const auto is_it = [&](const auto& other) { return same_place(other.location, after.location); };
  if (std::ranges::any_of(before.candidates, is_it)) return true;
  if (after.compiled && same_place(after.compiled->called, before.location)) return true;
  const bool no_node = before.launch && before.launch->operation == session::Work::graph && !before.launch->graph_node;
  return no_node && std::ranges::any_of(after.related, [&](const Related& related) {
           return related.role == Role::replay && same_place(related.location, before.location);
         });
}

// Returns true if both findings are at the same line. If a rerun found the line that started the thread, compares the
// library's line instead.
bool leads_as_before(const Finding& before, const Finding& after) {
  const bool new_start = after.thread_start && !before.thread_start;
  return same_place(before.location, new_start ? after.thread_start->issued : after.location);
}

const Finding* counterpart(const Diagnosis& before, const Finding& finding) {
  const auto found = std::ranges::find_if(before.findings, [&](const Finding& other) {
    return other.pid == finding.pid && other.code == finding.code && analyse::is_asynchronous(other.kind);
  });
  return found == before.findings.end() ? nullptr : &*found;
}

bool is_proof(const Finding& before, const Finding& after) {
  return after.evidence.proves() && !before.evidence.proves();
}

void choose_finding(Gain& gain, const Diagnosis& before, const Diagnosis& after) {
  gain.before = &before.findings.front();
  gain.after = &after.findings.front();
  bool any = false;
  for (const Finding& is : after.findings) {
    const Finding* was = analyse::is_asynchronous(is.kind) ? counterpart(before, is) : nullptr;
    if (was == nullptr) continue;
    if (!any || is_proof(*was, is)) {
      gain.before = was;
      gain.after = &is;
    }
    if (is_proof(*was, is)) return;
    any = true;
  }
}

bool has_eager_line(const Finding& finding) {
  return std::ranges::any_of(finding.related, [](const Related& related) { return related.role == Role::eager; });
}

std::string cause_of(const Finding& finding) { return finding.cause ? finding.cause->text : ""; }

auto wrong_pointers(const Finding& finding) {
  std::vector<std::tuple<std::string, bool, std::uint64_t>> wrong;
  for (const Argument& argument : finding.arguments) {
    if (argument.points_amiss()) wrong.emplace_back(argument.name, argument.allocation->is_freed, argument.past_end());
  }
  return wrong;
}

bool says_more(const Finding& was, const Finding& is) {
  return was.evidence.grade() != is.evidence.grade() || cause_of(was) != cause_of(is) ||
         was.device.has_value() != is.device.has_value() || was.memory.has_value() != is.memory.has_value() ||
         was.origin.has_value() != is.origin.has_value() || was.witnesses != is.witnesses ||
         was.thread_start.has_value() != is.thread_start.has_value() || has_eager_line(was) != has_eager_line(is) ||
         was.saved_launch.has_value() != is.saved_launch.has_value() || wrong_pointers(was) != wrong_pointers(is);
}

// Counts the out-of-memory findings for which a rerun queried PyTorch's allocator.
auto asked_allocators(const Diagnosis& report) {
  return std::ranges::count_if(
      report.findings, [](const Finding& finding) { return finding.memory_use && finding.memory_use->tensors; });
}

auto failures_in(const Diagnosis& report) {
  return std::ranges::count_if(report.findings, [](const Finding& finding) { return !is_race(finding); });
}

}  // namespace

bool is_race(const Finding& finding) { return finding.race.has_value(); }

std::optional<Gain> gain(const Diagnosis& before, const Diagnosis& after) {
  if (before.findings.empty() || after.findings.empty() || is_race(before.findings.front())) return std::nullopt;
  Gain gain;
  choose_finding(gain, before, after);
  gain.is_proof = is_proof(*gain.before, *gain.after);
  gain.moved =
      !leads_as_before(*gain.before, *gain.after) || !leads_as_before(before.findings.front(), after.findings.front());
  gain.narrowed = gain.moved && was_possible(*gain.before, *gain.after);
  gain.elsewhere = failures_in(after) > failures_in(before);
  gain.says_more = says_more(*gain.before, *gain.after) || asked_allocators(before) != asked_allocators(after);
  return gain;
}

bool same_races(const Diagnosis& before, const Diagnosis& after) {
  const auto key = [](const Finding& finding) {
    const Location& at = finding.location;
    return std::tuple(finding.race->possible, at.file, at.line, at.function);
  };
  std::vector<decltype(key(before.findings.front()))> were, are;
  for (const Finding& finding : before.findings) {
    if (is_race(finding)) were.push_back(key(finding));
  }
  for (const Finding& finding : after.findings) {
    if (is_race(finding)) are.push_back(key(finding));
  }
  return were == are;
}

}  // namespace cudadiag::diagnose
