#include "sass/detours.h"

#include <algorithm>

namespace cudadiag::sass {
namespace {

constexpr std::size_t kMostPasses = 50;

bool may_end(const Instruction& i) { return is_any(i.base(), {"EXIT", "RET", "KILL", "RTT"}); }

}  // namespace

Detours::Detours(const Program& program) : program_(program) {
  const std::vector<std::uint32_t> meets = meeting_points();
  for (std::uint32_t at = 0; at < program.size(); ++at) {
    const bool parts = program.next(at).size() > 1 || (may_end(program[at]) && !program.next(at).empty());
    if (parts) detours_.emplace(at, found(at, meets[at]));
  }
}

// The nearest instruction that all paths to an end go through, for each; size(): an end. After Cooper, Harvey and
// Kennedy, "A simple, fast dominance algorithm".
std::vector<std::uint32_t> Detours::meeting_points() const {
  const std::uint32_t end = program_.size();
  std::vector<std::vector<std::uint32_t>> before(end + 1);
  const auto successors = [&](std::uint32_t at) {
    std::vector<std::uint32_t> next = program_.next(at);
    if (next.empty() || may_end(program_[at])) next.push_back(end);
    return next;
  };
  for (std::uint32_t at = 0; at < end; ++at) {
    for (const std::uint32_t to : successors(at)) before[to].push_back(at);
  }
  // In the order in which a search back from the end finishes.
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

Detours::Detour Detours::found(std::uint32_t at, std::uint32_t meets) const {
  Detour out;
  out.known = true;
  if (meets != program_.size()) out.meets = meets;
  std::vector<bool> seen(program_.size());
  const auto visit = [&](std::uint32_t to) {
    if (to != out.meets && !seen[to]) seen[to] = true, out.code.push_back(to);
  };
  for (const std::uint32_t to : program_.next(at)) visit(to);
  for (std::size_t done = 0; done < out.code.size(); ++done) {
    const Instruction& i = program_[out.code[done]];
    out.known &= !is_any(i.base(), {"CALL", "RET", "BRX", "BRXU", "JMX", "JMXU"});
    for (const std::uint32_t to : program_.next(out.code[done])) visit(to);
  }
  return out;
}

}  // namespace cudadiag::sass
