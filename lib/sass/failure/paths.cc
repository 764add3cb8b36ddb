#include "sass/failure/paths.h"

#include <algorithm>

namespace cudadiag::sass {
Paths::Paths(const Program& program, At failing)
    : program_(program),
      failing_(failing),
      next_(program.size()),
      before_(program.size()),
      is_entry_(program.size()),
      barred_(program.size()),
      none_(program.size()) {
  for (At at = 0; at < program.size(); ++at) {
    next_[at] = program.next(at);
    for (const Program::Return& back : program.returns(at)) next_[at].push_back(back.to);
    for (const At to : next_[at]) before_[to].push_back(at);
  }
  for (At at = 0; at < program.size(); ++at) {
    is_entry_[at] = at == 0 || before_[at].empty();
    barred_[at] = at != failing_ && waits_for_failing(at);
  }
}

bool Paths::waits_for_failing(At at) const {
  const Written& loaded = program_[failing_].written;
  if (program_[failing_].code->shape != Shape::plain || loaded.first == kNone) return false;
  // Considers only registers that are certain to be loaded.
  const Slot end = loaded.first + std::min(loaded.count, 4u);
  return std::ranges::any_of(program_[at].operands, [&](std::string_view operand) {
    return std::ranges::any_of(registers_in(operand), [&](Slot slot) { return slot >= loaded.first && slot < end; });
  });
}

// Returns the instructions that can be reached from `from` without passing a barred one. An instruction in `from` may
// itself be barred.
Paths::Marks Paths::reach(const std::vector<At>& from, const std::vector<std::vector<At>>& edges, const Marks& barred) {
  Marks seen(program_.size());
  std::vector<At> open = from;
  for (const At at : from) seen[at] = true;
  while (!open.empty() && !spent()) {
    const At at = open.back();
    open.pop_back();
    for (const At to : edges[at]) {
      if (seen[to] || barred[to]) continue;
      seen[to] = true;
      open.push_back(to);
    }
  }
  return seen;
}

const Paths::Since& Paths::since(At stands) {
  const auto [found, made] = since_.try_emplace(stands);
  Since& out = found->second;
  if (!made) return out;
  // An instruction may have run since the failure if it is on a path from the failing instruction to `stands`.
  const Marks after = reach({failing_}, next_, barred_);
  const Marks until = reach({stands}, before_, barred_);
  const auto follows = [&](At at) {
    return std::any_of(before_[at].begin(), before_[at].end(), [&](At from) { return after[from]; });
  };
  const auto leads = [&](At at) {
    return std::any_of(next_[at].begin(), next_[at].end(), [&](At to) { return until[to]; });
  };
  out.reachable = follows(stands) && steps_ <= kMostSteps;
  out.straight = out.reachable && stands > failing_;
  for (At at = 0; at < program_.size(); ++at) {
    const bool executed = at == failing_ || (after[at] && until[at] && follows(at) && leads(at) && !barred_[at]);
    if (!executed) continue;
    out.executed.push_back(at);
    out.straight &= at >= failing_ && at < stands;
  }
  for (const At at : out.executed) {
    for (const At to : next_[at]) {
      const bool inside = to == stands || std::binary_search(out.executed.begin(), out.executed.end(), to);
      out.straight &= !inside || to == at + 1;
    }
  }
  return out;
}

bool Paths::can_stand(At stands) { return stands < program_.size() && since(stands).reachable; }

// Returns the instructions that may run between `moment` and the failing instruction. Includes the failing instruction
// if it may also have run earlier.
const std::vector<Paths::At>& Paths::until_failing(Moment moment) {
  const auto [found, made] = until_.try_emplace(moment);
  if (!made) return found->second;
  Marks barred = none_;
  if (moment.latest) barred[moment.at] = true;
  const Marks after = reach({moment.at}, next_, barred), until = reach({failing_}, before_, barred);
  const auto leads = [&](At at) {
    return std::any_of(next_[at].begin(), next_[at].end(), [&](At to) { return until[to] && !barred[to]; });
  };
  for (At each = 0; each < program_.size(); ++each) {
    if (each == moment.at || (after[each] && until[each] && leads(each))) found->second.push_back(each);
  }
  return found->second;
}

bool Paths::is_untouched_before(Slot slot, Moment moment) {
  if (moment.at == failing_ && moment.latest) return true;
  const auto known = untouched_until_.find({slot, moment});
  if (known != untouched_until_.end()) return known->second;
  const auto& executed = until_failing(moment);
  const bool untouched =
      std::none_of(executed.begin(), executed.end(), [&](At each) { return program_[each].written.has(slot); });
  return untouched_until_[{slot, moment}] = untouched && steps_ <= kMostSteps;
}

Paths::Moment Paths::last_before(At by, Moment moment) {
  if (!moment.latest || by == moment.at) return {by, false};
  const auto& executed = until_failing(moment);
  const bool again = moment.at != failing_ && std::binary_search(executed.begin(), executed.end(), by);
  return {by, !again && steps_ <= kMostSteps};
}

bool Paths::is_untouched(Slot slot, Moment moment, At stands) {
  const Since& after = since(stands);
  if (!after.reachable || !is_untouched_before(slot, moment)) return false;
  return std::none_of(after.executed.begin(), after.executed.end(),
                      [&](At each) { return program_[each].written.has(slot); });
}

std::optional<Paths::At> Paths::written_once_since(Slot slot, At stands) {
  const Since& after = since(stands);
  if (!after.straight) return std::nullopt;
  std::optional<At> found;
  for (const At each : after.executed) {
    if (!program_[each].written.has(slot)) continue;
    if (found) return std::nullopt;
    found = each;
  }
  return found;
}

bool Paths::is_repeated(At at) {
  const Marks after = reach(next_[at], next_, none_);
  return after[at] || steps_ > kMostSteps;
}

std::optional<Paths::At> Paths::definition(Slot slot, At at, const std::function<Guard(At)>& guard) {
  std::optional<At> found;
  std::vector<At> open{at};
  Marks seen(program_.size());
  while (!open.empty()) {
    const At here = open.back();
    open.pop_back();
    if (is_entry_[here]) return std::nullopt;
    for (const At from : before_[here]) {
      if (spent()) return std::nullopt;
      if (seen[from]) continue;
      seen[from] = true;
      if (!program_[from].written.has(slot)) {
        open.push_back(from);
        continue;
      }
      const Guard holds = !program_[from].is_conditional() ? Guard::holds : guard(from);
      if (holds == Guard::unknown || program_[from].written.everything) return std::nullopt;
      if (holds == Guard::fails) {
        // In a loop, the condition may have been true in an earlier iteration.
        if (is_repeated(from)) return std::nullopt;
        open.push_back(from);
        continue;
      }
      if (found && *found != from) return std::nullopt;
      found = from;
    }
  }
  return found;
}

std::optional<std::vector<Paths::At>> Paths::definitions(Slot slot, At at) {
  std::vector<At> found, open{at};
  Marks seen(program_.size());
  while (!open.empty()) {
    const At here = open.back();
    open.pop_back();
    if (is_entry_[here]) return std::nullopt;
    for (const At from : before_[here]) {
      if (spent()) return std::nullopt;
      if (seen[from]) continue;
      seen[from] = true;
      const bool writes = program_[from].written.has(slot);
      if (writes && program_[from].written.everything) return std::nullopt;
      if (writes) found.push_back(from);
      if (!writes || program_[from].is_conditional()) open.push_back(from);
    }
  }
  return found;
}

}  // namespace cudadiag::sass
