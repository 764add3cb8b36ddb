#include "sass/code/detours.h"

#include <algorithm>

namespace cudadiag::sass {
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
  if (changed) std::fill(meets.begin(), meets.end(), end);
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

}  // namespace cudadiag::sass
