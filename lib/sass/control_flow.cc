#include "sass/control_flow.h"

#include <algorithm>
#include <numeric>

namespace cudadiag::sass {
namespace {

constexpr std::size_t kMostText = 64u << 20;
constexpr std::size_t kMostWork = 20'000'000;  // limits the instructions and edges to visit

bool ends_path(const Instruction& i) {
  if (i.op == Op::exit && !i.operands.empty()) return false;  // the operand is a condition
  return !i.is_conditional() && (i.op == Op::exit || i.op == Op::stop || i.op == Op::back || i.op == Op::table_jump);
}

bool always_jumps(const Instruction& i) {
  // A jump with a second operand is conditional.
  return !i.is_conditional() && i.op == Op::jump && i.operands.size() == 1 && !i.has<"DIV">() && !i.has<"CONV">();
}

}  // namespace

Program::Program(std::string_view text) {
  std::unordered_map<std::uint32_t, std::uint32_t> index;  // keyed by address
  if (text.size() > kMostText) return;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (auto instruction = parse_instruction(text.substr(0, end))) {
      index[instruction->address] = static_cast<std::uint32_t>(code_.size());
      code_.push_back(std::move(*instruction));
    }
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
  }
  set_targets(index);
  if (!connect()) code_.clear();
}

std::uint64_t Program::unknown_opcodes() const {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(code_, [](const Instruction& i) { return !is_known(*i.code); }));
}

bool Program::falls_through(std::uint32_t at) const {
  const auto& next = flow_[at].next;
  return next.size() == 1 && next[0] == at + 1 && !flow_[at + 1].begins_block;
}

void Program::set_targets(const std::unordered_map<std::uint32_t, std::uint32_t>& by_address) {
  for (Instruction& i : code_) {
    if (i.op != Op::jump && i.op != Op::call && i.op != Op::set_barrier && i.op != Op::meet) continue;
    for (const std::string_view operand : i.operands) {
      const auto address = i.relocated ? std::nullopt : parse_hex(operand);
      const auto at = address ? by_address.find(*address) : by_address.end();
      if (at != by_address.end()) i.target = at->second;
    }
    // A function outside this code may write to every register.
    i.written.everything = i.op == Op::call && i.target == kNone;
  }
}

bool Program::connect() {
  flow_.resize(code_.size());
  const Joints all = joints();
  for (std::uint32_t at = 0; at < code_.size() && is_small(); ++at) connect_one(at, all);
  connect_returns(all);
  for (std::uint32_t at = 0; at < code_.size(); ++at) {
    const auto& next = flow_[at].next;
    for (const std::uint32_t to : next) flow_[to].begins_block |= to != at + 1 || next.size() > 1;
  }
  for (const std::uint32_t after : all.after_calls) flow_[after].begins_block = true;
  return is_small();
}

bool Program::is_small() const { return work_ <= kMostWork; }

std::vector<std::uint32_t> Program::reach(std::uint32_t begin, Into into) {
  std::vector<bool> seen(code_.size());
  std::vector<std::uint32_t> reached{begin};
  seen[begin] = true;
  for (std::size_t done = 0; done < reached.size() && is_small(); ++done) {
    const std::uint32_t at = reached[done];
    const auto& next = flow_[at].next;
    work_ += 1 + next.size();
    for (const std::uint32_t to : next) {
      const bool is_call = code_[at].op == Op::call && to != at + 1;
      if (seen[to] || (is_call && into == Into::none)) continue;
      seen[to] = true;
      reached.push_back(to);
    }
  }
  return reached;
}

std::vector<std::uint32_t> Program::altered_from(std::uint32_t begin) {
  std::set<std::uint32_t> altered;
  for (const std::uint32_t at : reach(begin, Into::calls)) {
    const Instruction& code = code_[at];
    is_recursive_ |= code.op == Op::call && code.target == begin;
    if (code.base() == "STL") {
      for (std::uint32_t each = kStack; each < kRegisters; ++each) altered.insert(each);
    }
    Written first = code.written;
    first.second = kNone;
    first.each_register([&](Slot each) { altered.insert(each); });
  }
  return {altered.begin(), altered.end()};
}

void Program::connect_returns(const Joints& joints) {
  static const std::vector<std::uint32_t> kAll = [] {
    std::vector<std::uint32_t> all(kRegisters);
    std::iota(all.begin(), all.end(), 0u);
    return all;
  }();
  std::map<std::uint32_t, std::vector<std::uint32_t>> callers;  // keyed by function
  for (const std::uint32_t after : joints.after_calls) {
    if (code_[after - 1].target != kNone) callers[code_[after - 1].target].push_back(after);
  }
  const auto lead = [&](std::uint32_t at, const std::vector<std::uint32_t>& places,
                        const std::vector<std::uint32_t>& altered) {
    work_ += places.size();
    for (const std::uint32_t after : places) returns_[at].push_back({after, &altered});
  };
  for (const auto& [begin, places] : callers) {
    const auto& altered = altered_[begin] = altered_from(begin);
    for (const std::uint32_t at : reach(begin, Into::none)) {
      if (code_[at].op == Op::back && is_small()) lead(at, places, altered);
    }
  }
  for (std::uint32_t at = 0; at < code_.size() && is_small(); ++at) {
    // We do not know to which function this return belongs, so it may return to any call.
    if (code_[at].op == Op::back && !returns_.contains(at)) lead(at, joints.after_calls, kAll);
  }
}

const std::vector<Program::Return>& Program::returns(std::uint32_t at) const {
  static const std::vector<Return> kNowhere;
  const auto known = returns_.find(at);
  return known == returns_.end() ? kNowhere : known->second;
}

Program::Joints Program::joints() const {
  Joints joints;
  for (std::uint32_t at = 0; at + 1 < code_.size(); ++at) {
    const Instruction& i = code_[at];
    if (i.op == Op::call) joints.after_calls.push_back(at + 1);
    if (ends_path(i) || always_jumps(i)) joints.after_ends.push_back(at + 1);
    if (i.op == Op::set_barrier && i.target != kNone) joints.meeting_points[i.barrier].insert(i.target);
  }
  return joints;
}

void Program::connect_one(std::uint32_t at, const Joints& joints) {
  const Instruction& code = code_[at];
  std::vector<std::uint32_t>& next = flow_[at].next;
  if (!ends_path(code) && !always_jumps(code) && at + 1 < code_.size()) next.push_back(at + 1);
  if (code.target != kNone && code.op != Op::set_barrier) next.push_back(code.target);
  // The target comes from a table. It may be any instruction that follows an unconditional jump or an end of the code.
  if (code.op == Op::table_jump) {
    next.insert(next.end(), joints.after_ends.begin(), joints.after_ends.end());
  }
  // After BSYNC, threads continue at the target of a BSSY with the same barrier register. If one of these targets is
  // the next instruction, it is the right one. Otherwise, any of them may be.
  if (code.op == Op::sync) {
    const auto points = joints.meeting_points.find(code.barrier);
    if (points != joints.meeting_points.end() && !points->second.contains(at + 1)) {
      next.insert(next.end(), points->second.begin(), points->second.end());
    }
  }
  work_ += next.size();
}

namespace {

constexpr std::size_t kMostPasses = 50;

constexpr std::uint32_t kFarthestReturn = 16;  // instructions between the one that sets the return address and the call

bool may_end(const Instruction& i) { return i.op == Op::exit || i.op == Op::back || i.op == Op::stop; }

// Returns the first instruction of the called function; kNone if the instruction calls no function in this code.
std::uint32_t called_by(const Program& program, std::uint32_t at) {
  return program[at].op == Op::call ? program[at].target : kNone;
}

// Returns whether the called function returns to the instruction after the call.
bool returns_behind(const Program& program, std::uint32_t at) {
  if (at + 1 >= program.size()) return false;
  for (std::uint32_t before = at; before > 0 && at - before < kFarthestReturn; --before) {
    const Instruction& i = program[before - 1];
    if (i.base() == "MOV" && !i.is_conditional() && !i.values.empty() && i.values[0].is(program[at + 1].address)) {
      return true;
    }
  }
  return false;
}

}  // namespace

Detours::Detours(const Program& program) : program_(program) {
  const std::vector<std::uint32_t> meets = meeting_points();
  for (std::uint32_t at = 0; at < program.size(); ++at) {
    const bool parts = next_here(at).size() > 1 || (may_end(program[at]) && !program.next(at).empty());
    if (parts) detours_.emplace(at, found(at, meets[at]));
  }
}

// Returns each instruction's immediate postdominator: the nearest instruction on all paths from it to an end of the
// code. size() represents the ends. Uses the algorithm of Cooper, Harvey and Kennedy, "A simple, fast dominance
// algorithm".
std::vector<std::uint32_t> Detours::meeting_points() const {
  const std::uint32_t end = program_.size();
  std::vector<std::vector<std::uint32_t>> before(end + 1);
  const auto successors = [&](std::uint32_t at) {
    std::vector<std::uint32_t> next = next_here(at);
    if (next.empty() || may_end(program_[at])) next.push_back(end);
    return next;
  };
  for (std::uint32_t at = 0; at < end; ++at) {
    for (const std::uint32_t to : successors(at)) before[to].push_back(at);
  }
  // Ranks the instructions in the postorder of a backward search from the end.
  std::vector<std::uint32_t> rank(end + 1, kNone), order;
  std::vector<std::pair<std::uint32_t, std::size_t>> open{{end, 0}};
  std::vector<bool> seen(end + 1);
  seen[end] = true;
  while (!open.empty()) {
    auto& [at, next] = open.back();
    if (next < before[at].size()) {
      const std::uint32_t from = before[at][next++];
      if (!seen[from]) seen[from] = true, open.emplace_back(from, 0);
      continue;
    }
    rank[at] = static_cast<std::uint32_t>(order.size());
    order.push_back(at);
    open.pop_back();
  }
  std::vector<std::uint32_t> meets(end + 1, kNone);
  meets[end] = end;
  const auto common = [&](std::uint32_t a, std::uint32_t b) {
    while (a != b) rank[a] < rank[b] ? a = meets[a] : b = meets[b];
    return a;
  };
  bool changed = true;
  for (std::size_t pass = 0; changed && pass < kMostPasses; ++pass) {
    changed = false;
    for (auto at = order.rbegin(); at != order.rend(); ++at) {
      if (*at == end) continue;
      std::uint32_t meet = kNone;
      for (const std::uint32_t to : successors(*at)) {
        if (meets[to] != kNone) meet = meet == kNone ? to : common(meet, to);
      }
      changed |= meets[*at] != meet;
      meets[*at] = meet;
    }
  }
  if (changed) std::ranges::fill(meets, end);
  return meets;
}

// Returns the instruction's successors. Steps over a called function if it returns to the next instruction.
std::vector<std::uint32_t> Detours::next_here(std::uint32_t at) const {
  if (called_by(program_, at) != kNone && returns_behind(program_, at)) return {at + 1};
  return program_.next(at);
}

Detours::Detour Detours::found(std::uint32_t at, std::uint32_t meets) const {
  Detour out;
  out.known = true;
  if (meets != program_.size()) out.meets = meets;
  std::vector<bool> seen(program_.size());
  std::vector<std::uint32_t> functions;
  const auto visit = [&](std::uint32_t to) {
    if (to != out.meets && !seen[to]) seen[to] = true, out.code.push_back(to);
  };
  const auto visit_from = [&](std::size_t done, bool called) {
    for (; done < out.code.size(); ++done) {
      const std::uint32_t here = out.code[done];
      const Instruction& i = program_[here];
      const std::uint32_t function = called_by(program_, here);
      if (function != kNone && returns_behind(program_, here)) {
        functions.push_back(function);
        visit(here + 1);
        continue;
      }
      out.known &= i.op != Op::call && i.op != Op::table_jump;
      // The detour is known only if called functions return and never end the thread. Code outside called functions may
      // end the thread, but must not return.
      out.known &= called ? i.op != Op::exit && i.op != Op::stop : i.op != Op::back;
      for (const std::uint32_t to : program_.next(here)) visit(to);
    }
  };
  for (const std::uint32_t to : next_here(at)) visit(to);
  visit_from(0, false);
  while (!functions.empty()) {
    const std::size_t done = out.code.size();
    visit(functions.back());
    functions.pop_back();
    visit_from(done, true);
  }
  return out;
}

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
  const auto follows = [&](At at) { return std::ranges::any_of(before_[at], [&](At from) { return after[from]; }); };
  const auto leads = [&](At at) { return std::ranges::any_of(next_[at], [&](At to) { return until[to]; }); };
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
      const bool inside = to == stands || std::ranges::binary_search(out.executed, to);
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
    return std::ranges::any_of(next_[at], [&](At to) { return until[to] && !barred[to]; });
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
  const bool untouched = std::ranges::none_of(executed, [&](At each) { return program_[each].written.has(slot); });
  return untouched_until_[{slot, moment}] = untouched && steps_ <= kMostSteps;
}

Paths::Moment Paths::last_before(At by, Moment moment) {
  if (!moment.latest || by == moment.at) return {by, false};
  const auto& executed = until_failing(moment);
  const bool again = moment.at != failing_ && std::ranges::binary_search(executed, by);
  return {by, !again && steps_ <= kMostSteps};
}

bool Paths::is_untouched(Slot slot, Moment moment, At stands) {
  const Since& after = since(stands);
  if (!after.reachable || !is_untouched_before(slot, moment)) return false;
  return std::ranges::none_of(after.executed, [&](At each) { return program_[each].written.has(slot); });
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

template <typename Visit>
bool Paths::search_back(At at, const Visit& visit) {
  std::vector<At> open{at};
  Marks seen(program_.size());
  while (!open.empty()) {
    const At here = open.back();
    open.pop_back();
    if (is_entry_[here]) return false;
    for (const At from : before_[here]) {
      if (spent()) return false;
      if (seen[from]) continue;
      seen[from] = true;
      const Search next = visit(from);
      if (next == Search::unclear) return false;
      if (next == Search::on) open.push_back(from);
    }
  }
  return true;
}

std::optional<Paths::At> Paths::definition(Slot slot, At at, const std::function<Guard(At)>& guard) {
  std::optional<At> found;
  const bool clear = search_back(at, [&](At from) {
    if (!program_[from].written.has(slot)) return Search::on;
    const Guard holds = !program_[from].is_conditional() ? Guard::holds : guard(from);
    if (holds == Guard::unknown || program_[from].written.everything) return Search::unclear;
    // In a loop, the condition may have been true in an earlier iteration.
    if (holds == Guard::fails) return is_repeated(from) ? Search::unclear : Search::on;
    if (found && *found != from) return Search::unclear;
    found = from;
    return Search::done;
  });
  return clear ? found : std::nullopt;
}

std::optional<std::vector<Paths::At>> Paths::definitions(Slot slot, At at) {
  std::vector<At> found;
  const bool clear = search_back(at, [&](At from) {
    if (!program_[from].written.has(slot)) return Search::on;
    if (program_[from].written.everything) return Search::unclear;
    found.push_back(from);
    return program_[from].is_conditional() ? Search::on : Search::done;
  });
  return clear ? std::optional(std::move(found)) : std::nullopt;
}

}  // namespace cudadiag::sass
