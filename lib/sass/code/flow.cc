#include "sass/code/flow.h"

#include <algorithm>
#include <numeric>

namespace cudadiag::sass {
namespace {

constexpr std::size_t kMostText = 64u << 20;
constexpr std::size_t kMostWork = 20'000'000;  // limits the instructions and edges to visit

bool ends_path(const Instruction& i) {
  if (i.base() == "EXIT" && !i.operands.empty()) return false;  // the operand is a condition
  return i.predicate.empty() && is_any(i.base(), {"EXIT", "RET", "BRX", "JMX", "KILL", "BRXU", "JMXU"});
}

bool always_jumps(const Instruction& i) {
  // A jump with a second operand is conditional.
  return i.predicate.empty() && is_any(i.base(), {"BRA", "JMP"}) && i.operands.size() == 1 && !i.has("DIV") &&
         !i.has("CONV");
}

}  // namespace

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
  if (!connect()) code_.clear();
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
      const bool is_call = code_[at].base() == "CALL" && to != at + 1;
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
    if (code.base() == "STL") {
      for (std::uint32_t each = kStack; each < kRegisters; ++each) altered.insert(each);
    }
    const auto result = std::find_if_not(code.operands.begin(), code.operands.end(), is_predicate);
    const std::uint32_t first = result == code.operands.end() ? kNone : register_of(*result);
    if (first == kNone) continue;
    const std::uint32_t end = first >= kUniform ? kStack : kUniform;
    for (std::uint32_t each = first; each < std::min(first + width_of_result(code), end); ++each) altered.insert(each);
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
    if (const auto* target = target_of(code_[after - 1])) callers[*target].push_back(after);
  }
  const auto lead = [&](std::uint32_t at, const std::vector<std::uint32_t>& places,
                        const std::vector<std::uint32_t>& altered) {
    work_ += places.size();
    for (const std::uint32_t after : places) returns_[at].push_back({after, &altered});
  };
  for (const auto& [begin, places] : callers) {
    const auto& altered = altered_[begin] = altered_from(begin);
    for (const std::uint32_t at : reach(begin, Into::none)) {
      if (code_[at].base() == "RET" && is_small()) lead(at, places, altered);
    }
  }
  for (std::uint32_t at = 0; at < code_.size() && is_small(); ++at) {
    // We do not know to which function this return belongs, so it may return to any call.
    if (code_[at].base() == "RET" && !returns_.contains(at)) lead(at, joints.after_calls, kAll);
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
    if (code_[at].base() == "CALL") joints.after_calls.push_back(at + 1);
    if (ends_path(code_[at]) || always_jumps(code_[at])) joints.after_ends.push_back(at + 1);
    if (code_[at].base() != "BSSY" || code_[at].operands.empty()) continue;
    if (const auto* target = target_of(code_[at])) joints.meeting_points[code_[at].operands[0]].insert(*target);
  }
  return joints;
}

void Program::connect_one(std::uint32_t at, const Joints& joints) {
  const Instruction& code = code_[at];
  std::vector<std::uint32_t>& next = flow_[at].next;
  if (!ends_path(code) && !always_jumps(code) && at + 1 < code_.size()) next.push_back(at + 1);
  if (is_any(code.base(), {"BRA", "JMP", "CALL", "WARPSYNC"})) {
    if (const auto* target = target_of(code)) next.push_back(*target);
  }
  // The target comes from a table. It may be any instruction that follows an unconditional jump or an end of the code.
  if (is_any(code.base(), {"BRX", "BRXU", "JMX", "JMXU"})) {
    next.insert(next.end(), joints.after_ends.begin(), joints.after_ends.end());
  }
  // After BSYNC, threads continue at the target of a BSSY with the same barrier register. If one of these targets is
  // the next instruction, it is the right one. Otherwise, any of them may be.
  if (code.base() == "BSYNC" && !code.operands.empty()) {
    const auto points = joints.meeting_points.find(code.operands.back());
    if (points != joints.meeting_points.end() && !points->second.contains(at + 1)) {
      next.insert(next.end(), points->second.begin(), points->second.end());
    }
  }
  work_ += next.size();
}

}  // namespace cudadiag::sass
