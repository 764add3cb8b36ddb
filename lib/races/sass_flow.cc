#include "races/sass_flow.h"

#include <algorithm>
#include <set>

namespace cudadiag::races {
namespace {

constexpr std::size_t kMostText = 64u << 20;
constexpr std::size_t kMostEdges = 1'000'000;

bool ends_path(const Instruction& i) {
  return i.predicate.empty() && is_any(i.base(), {"EXIT", "RET", "BRX", "JMX", "KILL", "BRXU", "JMXU"});
}

bool always_jumps(const Instruction& i) {
  // A further operand is a condition.
  return i.predicate.empty() && is_any(i.base(), {"BRA", "JMP"}) && i.operands.size() == 1 && !i.has("DIV") &&
         !i.has("CONV");
}

}  // namespace

struct Program::Joints {
  std::vector<std::uint32_t> after_calls, after_ends;
  std::map<std::string_view, std::vector<std::uint32_t>> meeting_points;  // by barrier register
};

Program::Program(std::string_view text) {
  if (text.size() > kMostText) return;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (auto instruction = parse_instruction(text.substr(0, end))) {
      index_[instruction->address] = static_cast<std::uint32_t>(code_.size());
      code_.push_back(std::move(*instruction));
    }
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
  }
  connect();
}

bool Program::falls_through(std::uint32_t at) const {
  const auto& next = flow_[at].next;
  return next.size() == 1 && next[0] == at + 1 && !flow_[at + 1].begins_block;
}

const std::uint32_t* Program::target_of(const Instruction& instruction) const {
  for (auto operand = instruction.operands.rbegin(); operand != instruction.operands.rend(); ++operand) {
    const auto address = parse_hex(*operand);
    const auto at = address ? index_.find(*address) : index_.end();
    if (at != index_.end()) return &at->second;
  }
  return nullptr;
}

void Program::connect() {
  flow_.resize(code_.size());
  Joints all = joints();
  std::size_t edges = 0;
  for (std::uint32_t at = 0; at < code_.size(); ++at) {
    connect_one(at, all);
    edges += flow_[at].next.size();
    if (edges > kMostEdges) return code_.clear();
  }
  connect_returns(all.after_calls);
  for (const auto& [at, places] : returns_) edges += places.size();
  if (edges > kMostEdges) code_.clear();
}

std::vector<std::uint32_t> Program::reach(std::uint32_t begin, bool into_calls) const {
  std::vector<bool> seen(code_.size());
  std::vector<std::uint32_t> reached{begin};
  seen[begin] = true;
  for (std::size_t done = 0; done < reached.size(); ++done) {
    const std::uint32_t at = reached[done];
    for (const std::uint32_t to : flow_[at].next) {
      const bool is_call = code_[at].base() == "CALL" && to != at + 1;
      if (seen[to] || (is_call && !into_calls)) continue;
      seen[to] = true;
      reached.push_back(to);
    }
  }
  return reached;
}

// Rather too many: the two first operands may both be results, and how wide they are depends on much.
std::vector<std::uint32_t> Program::altered_from(std::uint32_t begin) const {
  std::set<std::uint32_t> altered;
  for (const std::uint32_t at : reach(begin, true)) {
    const bool is_matrix = code_[at].base().ends_with("MMA");
    std::uint32_t results = 0;
    for (const std::string_view operand : code_[at].operands) {
      const std::uint32_t first = register_of(operand);
      if (first == kNone) continue;
      const std::uint32_t end = first >= kUniform ? kRegisters : kUniform;
      for (std::uint32_t each = first; each < (is_matrix ? end : std::min(first + 4, end)); ++each)
        altered.insert(each);
      if (++results == 2) break;
    }
  }
  return {altered.begin(), altered.end()};
}

void Program::connect_returns(const std::vector<std::uint32_t>& after_calls) {
  static const std::vector<std::uint32_t> kAll = [] {
    std::vector<std::uint32_t> all(kRegisters);
    for (std::uint32_t each = 0; each < kRegisters; ++each) all[each] = each;
    return all;
  }();
  std::map<std::uint32_t, std::vector<std::uint32_t>> callers;  // by functions
  for (const std::uint32_t after : after_calls) {
    if (const auto* target = target_of(code_[after - 1])) callers[*target].push_back(after);
  }
  for (const auto& [begin, places] : callers) {
    const auto& altered = altered_[begin] = altered_from(begin);
    for (const std::uint32_t at : reach(begin, false)) {
      if (code_[at].base() != "RET") continue;
      for (const std::uint32_t after : places) returns_[at].push_back({after, &altered});
    }
  }
  for (std::uint32_t at = 0; at < code_.size(); ++at) {
    if (code_[at].base() != "RET" || returns_.contains(at)) continue;
    // Of which function is not seen.
    for (const std::uint32_t after : after_calls) returns_[at].push_back({after, &kAll});
  }
  for (const std::uint32_t after : after_calls) flow_[after].begins_block = true;
}

const std::vector<Program::Return>& Program::returns(std::uint32_t at) const {
  static const std::vector<Return> kNowhere;
  const auto known = returns_.find(at);
  return known == returns_.end() ? kNowhere : known->second;
}

Program::Joints Program::joints() const {
  Joints joints;
  for (std::uint32_t at = 0; at < code_.size(); ++at) {
    const Instruction& code = code_[at];
    const bool last = at + 1 == code_.size();
    if (code.base() == "CALL" && !last) joints.after_calls.push_back(at + 1);
    if ((ends_path(code) || always_jumps(code)) && !last) joints.after_ends.push_back(at + 1);
    if (code.base() == "BSSY" && !code.operands.empty()) {
      if (const auto* target = target_of(code)) joints.meeting_points[code.operands[0]].push_back(*target);
    }
  }
  return joints;
}

void Program::connect_one(std::uint32_t at, Joints& joints) {
  const Instruction& code = code_[at];
  const std::string_view base = code.base();
  std::vector<std::uint32_t>& next = flow_[at].next;
  const auto add = [&](const std::vector<std::uint32_t>& more) { next.insert(next.end(), more.begin(), more.end()); };
  if (!ends_path(code) && !always_jumps(code) && at + 1 < code_.size()) next.push_back(at + 1);
  if (is_any(base, {"BRA", "JMP", "CALL", "WARPSYNC"})) {
    if (const auto* target = target_of(code)) next.push_back(*target);
  }
  // Where a table says: it may be the beginning of any piece that nothing falls into.
  if (is_any(base, {"BRX", "BRXU", "JMX", "JMXU"})) add(joints.after_ends);
  if (is_any(base, {"BSYNC", "BREAK"}) && !code.operands.empty()) add(joints.meeting_points[code.operands.back()]);
  for (const std::uint32_t to : next) {
    if (to != at + 1 || next.size() > 1) flow_[to].begins_block = true;
  }
}

}  // namespace cudadiag::races
