#include "races/sass.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <unordered_map>

#include "races/sass_lines.h"

namespace cudadiag::races {
namespace {

constexpr std::size_t kMostText = 64u << 20;
constexpr std::size_t kMostSteps = 4'000'000;  // instructions gone through, again and again until nothing changes
constexpr std::size_t kMostEdges = 1'000'000;  // between instructions
constexpr std::uint32_t kPredicates = 32;      // P0..P7, UP0..UP7, each as it is and negated

// Words of the parameters that a register may hold a part of, and `top`: perhaps any. Sets are few: each gets a number,
// 0 is the empty one.
class Sets {
 public:
  using Id = std::uint16_t;
  static constexpr std::uint32_t kTop = 0xffffffff, kIndexed = 0x80000000;

  Sets() { number({}); }
  const std::vector<std::uint32_t>& of(Id id) const { return sets_[id]; }
  bool full() const { return full_; }

  Id number(std::vector<std::uint32_t> set) {
    const auto known = ids_.find(set);
    if (known != ids_.end()) return known->second;
    if (sets_.size() >= 60000) {
      full_ = true;
      return 0;
    }
    const Id id = static_cast<Id>(sets_.size());
    sets_.push_back(set);
    ids_.emplace(std::move(set), id);
    return id;
  }
  Id join(Id a, Id b) {
    if (a == b || b == 0) return a;
    if (a == 0) return b;
    if (a > b) std::swap(a, b);
    const std::uint32_t key = std::uint32_t{a} << 16 | b;
    const auto known = joined_.find(key);
    if (known != joined_.end()) return known->second;
    std::vector<std::uint32_t> both;
    std::set_union(sets_[a].begin(), sets_[a].end(), sets_[b].begin(), sets_[b].end(), std::back_inserter(both));
    return joined_[key] = number(std::move(both));
  }

 private:
  std::vector<std::vector<std::uint32_t>> sets_;
  std::map<std::vector<std::uint32_t>, Id> ids_;
  std::unordered_map<std::uint32_t, Id> joined_;
  bool full_ = false;
};

using Registers = std::array<Sets::Id, kRegisters>;

// P0 and !P0 are different ones; PT and UPT are none.
std::uint32_t predicate_of(std::string_view name) {
  const bool negated = name.starts_with('!');
  if (negated) name.remove_prefix(1);
  const bool uniform = name.starts_with('U');
  if (uniform) name.remove_prefix(1);
  if (name.size() != 2 || name[0] != 'P' || name[1] < '0' || name[1] > '7') return kNone;
  return (uniform ? 16u : 0u) + (static_cast<std::uint32_t>(name[1] - '0') << 1) + (negated ? 1u : 0u);
}

bool is_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

class Reader {
 public:
  Reader(std::string_view text, ParameterBank bank, Calls calls) : bank_(bank), calls_(calls) { parse(text); }

  KernelAccesses read() {
    if (code_.empty() || !follow()) return {};
    result_.known = true;
    return std::move(result_);
  }

 private:
  struct Flow {
    std::vector<std::uint32_t> next;  // indices of instructions
    bool begins_block = false;
  };

  void parse(std::string_view text) {
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

  // ---- what may follow what

  static bool ends_path(const Instruction& i) {
    return i.predicate.empty() && is_any(i.base(), {"EXIT", "RET", "BRX", "JMX", "KILL", "BRXU", "JMXU"});
  }
  static bool always_jumps(const Instruction& i) {
    // A further operand is a condition.
    return i.predicate.empty() && is_any(i.base(), {"BRA", "JMP"}) && i.operands.size() == 1 && !i.has("DIV") &&
           !i.has("CONV");
  }

  const std::uint32_t* target_of(const Instruction& i) const {
    for (auto operand = i.operands.rbegin(); operand != i.operands.rend(); ++operand) {
      const auto address = parse_hex(*operand);
      const auto at = address ? index_.find(*address) : index_.end();
      if (at != index_.end()) return &at->second;
    }
    return nullptr;
  }

  void connect() {
    flow_.resize(code_.size());
    std::vector<std::uint32_t> after_calls, after_ends;
    std::map<std::string_view, std::vector<std::uint32_t>> meeting_points;  // by barrier register
    for (std::uint32_t i = 0; i < code_.size(); ++i) {
      const bool last = i + 1 == code_.size();
      if (is_any(code_[i].base(), {"CALL"}) && !last) after_calls.push_back(i + 1);
      if ((ends_path(code_[i]) || always_jumps(code_[i])) && !last) after_ends.push_back(i + 1);
      if (code_[i].base() == "BSSY" && !code_[i].operands.empty()) {
        if (const auto* target = target_of(code_[i])) meeting_points[code_[i].operands[0]].push_back(*target);
      }
    }
    std::size_t edges = 0;
    for (std::uint32_t i = 0; i < code_.size(); ++i) {
      std::vector<std::uint32_t>& next = flow_[i].next;
      const Instruction& code = code_[i];
      const std::string_view base = code.base();
      if (!ends_path(code) && !always_jumps(code) && i + 1 < code_.size()) next.push_back(i + 1);
      if (is_any(base, {"BRA", "JMP", "CALL", "WARPSYNC"})) {
        if (const auto* target = target_of(code)) next.push_back(*target);
      }
      if (base == "RET") next.insert(next.end(), after_calls.begin(), after_calls.end());
      // Where a table says: it may be the beginning of any piece that nothing falls into.
      if (is_any(base, {"BRX", "BRXU", "JMX", "JMXU"})) next.insert(next.end(), after_ends.begin(), after_ends.end());
      if (is_any(base, {"BSYNC", "BREAK"}) && !code.operands.empty()) {
        const auto& points = meeting_points[code.operands.back()];
        next.insert(next.end(), points.begin(), points.end());
      }
      for (const std::uint32_t to : next) {
        if (to != i + 1 || next.size() > 1) flow_[to].begins_block = true;
      }
      edges += next.size();
      if (edges > kMostEdges) return code_.clear();  // not known then
    }
  }

  // ---- what the registers hold

  bool follow() {
    std::map<std::uint32_t, Registers> entries;  // of blocks
    std::vector<std::uint32_t> open{0};
    entries[0] = {};
    std::size_t steps = 0;
    // Until the pools of shared and local memory hold still, too.
    for (bool again = true; again;) {
      again = false;
      const Sets::Id pool_before = pool_;
      while (!open.empty()) {
        std::uint32_t at = open.back();
        open.pop_back();
        Registers state = entries[at];
        for (auto& view : views_) view.clear();
        for (;;) {
          if (++steps > kMostSteps || sets_.full()) return false;
          step(code_[at], state);
          const auto& next = flow_[at].next;
          if (next.size() == 1 && next[0] == at + 1 && !flow_[at + 1].begins_block) {
            ++at;
            continue;
          }
          for (const std::uint32_t to : next) arrive(entries, open, to, state);
          break;
        }
      }
      if (pool_ != pool_before) {
        again = true;
        for (const auto& [block, state] : entries) open.push_back(block);
      }
    }
    return true;
  }

  void arrive(std::map<std::uint32_t, Registers>& entries, std::vector<std::uint32_t>& open, std::uint32_t block,
              const Registers& state) {
    const auto [known, fresh] = entries.try_emplace(block, state);
    bool changed = fresh;
    for (std::size_t i = 0; i < state.size() && !fresh; ++i) {
      const Sets::Id joined = sets_.join(known->second[i], state[i]);
      changed |= joined != known->second[i];
      known->second[i] = joined;
    }
    if (changed && std::find(open.begin(), open.end(), block) == open.end()) open.push_back(block);
  }

  // Under a condition a register keeps what it had, or gets the new; what reads it under the same condition sees the
  // new alone.
  Sets::Id get(const Registers& state, std::uint32_t at, std::uint32_t predicate) const {
    if (at >= kRegisters) return 0;
    if (predicate != kNone) {
      const auto seen = views_[predicate].find(at);
      if (seen != views_[predicate].end()) return seen->second;
    }
    return state[at];
  }
  void set(Registers& state, std::uint32_t at, Sets::Id value, std::uint32_t predicate) {
    if (at >= kRegisters) return;
    if (predicate == kNone) {
      for (auto& view : views_) view.erase(at);
      state[at] = value;
      return;
    }
    views_[predicate][at] = value;
    for (std::uint32_t other = 0; other < kPredicates; ++other) {
      if (other == predicate || other == (predicate ^ 1)) continue;
      const auto seen = views_[other].find(at);
      if (seen != views_[other].end()) seen->second = sets_.join(seen->second, value);
    }
    if (!views_[predicate ^ 1].contains(at)) views_[predicate ^ 1][at] = state[at];
    state[at] = sets_.join(state[at], value);
  }

  Sets::Id one(std::uint32_t value) { return sets_.number({value}); }

  // A word of constant bank 0, the `half`th 4 bytes from where the operand says; nothing that is no parameter.
  Sets::Id constant(std::string_view operand, std::uint32_t half) {
    const std::size_t at = operand.find("c[0x0][");
    if (at == std::string_view::npos) return 0;
    std::string_view place = operand.substr(at + 7);
    place = place.substr(0, place.find(']'));
    const std::size_t plus = place.find('+');
    const std::string_view head = place.substr(0, plus);
    const bool by_register = register_of(head) != kNone;
    const std::string_view tail = by_register ? plus == std::string_view::npos ? "0x0" : place.substr(plus + 1)
                                  : head.starts_with("0x")         ? head
                                  : plus == std::string_view::npos ? "0x0"
                                                                   : place.substr(plus + 1);
    const auto offset = parse_hex(tail);
    if (!offset) return by_register ? one(Sets::kTop) : 0;
    if (by_register) {
      if (*offset < bank_.offset) return one(Sets::kTop);
      return *offset >= bank_.offset + bank_.size ? 0 : one((*offset - bank_.offset + 4 * half) | Sets::kIndexed);
    }
    const std::uint32_t word = *offset + 4 * half;
    return word < bank_.offset || word >= bank_.offset + bank_.size ? 0 : one((word - bank_.offset) & ~3u);
  }

  // What an operand brings; `half`: of a pair or more the how-manieth register.
  Sets::Id value(const Registers& state, std::string_view operand, std::uint32_t half, std::uint32_t predicate) {
    if (operand.find("c[0x0]") != std::string_view::npos) return constant(operand, half);
    const std::uint32_t at = register_of(operand);
    return at == kNone ? 0 : get(state, at + half, predicate);
  }

  void step(const Instruction& i, Registers& state) {
    if (i.predicate == "!PT" || i.predicate == "!UPT") return;
    const std::uint32_t predicate = predicate_of(i.predicate);
    const std::string_view base = i.base();
    if (base == "CALL") return call(i, state);
    if (touch(i, state, predicate)) return;
    // What it decides is a new condition under an old name.
    std::size_t first = 0;
    for (const std::string_view operand : i.operands) {
      if (!is_predicate(operand)) break;
      forget_condition(operand);
      ++first;
    }
    if (base.ends_with("SETP") || base == "PLOP3" || base == "UPLOP3" || base == "R2P") return;
    if (first >= i.operands.size()) return;
    const std::uint32_t to = register_of(i.operands[first]);
    if (to == kNone) return;
    for (std::size_t at = first + 1; at < i.operands.size() && is_predicate(i.operands[at]) && at <= first + 2; ++at) {
      if (at + 1 < i.operands.size() && !i.operands[at].starts_with('!')) forget_condition(i.operands[at]);
    }
    if (is_any(base, {"LDC", "ULDC", "LDCU"}) && first + 1 < i.operands.size()) {
      const std::uint32_t words = i.has("128") ? 4 : i.has("64") ? 2 : 1;
      for (std::uint32_t w = 0; w < words; ++w)
        set(state, to + w, value(state, i.operands[first + 1], w, predicate), predicate);
      return;
    }
    if (is_any(base, {"LDL", "LDS", "LDSM"})) return set_many(i, state, to, pool_, predicate);
    if (is_any(base, {"STL", "STS"})) return;
    const bool wide = i.has("WIDE");
    const bool pair = i.has("64") && base != "SHF" && base != "ISETP";
    Sets::Id low = 0, high = 0;
    for (std::size_t at = first + 1; at < i.operands.size(); ++at) {
      const std::string_view operand = i.operands[at];
      if (is_predicate(operand) || !may_pass_address(i, first, at)) continue;
      const bool is_pair = pair || (wide && at == first + 3);
      low = sets_.join(low, value(state, operand, 0, predicate));
      high = sets_.join(high, value(state, operand, is_pair ? 1 : 0, predicate));
    }
    set(state, to, low, predicate);
    if (wide || pair) set(state, to + 1, high, predicate);
  }

  // Whether what an instruction makes may be an address because this operand is one: what is multiplied, shifted or
  // counted with is a number.
  static bool may_pass_address(const Instruction& i, std::size_t first, std::size_t at) {
    std::string_view base = i.base();
    if (base.starts_with('U')) base.remove_prefix(1);
    std::vector<std::string_view> values;  // after the destination, without conditions
    std::size_t place = 0;
    for (std::size_t each = first + 1; each < i.operands.size(); ++each) {
      if (is_predicate(i.operands[each])) continue;
      if (each == at) place = values.size();
      values.push_back(i.operands[each]);
    }
    if (base == "IMAD") return place >= 2 || (place == 0 && values.size() > 1 && values[1] == "0x1");
    if (base == "LEA") return place == 1 || (place == 0 && values.back() == "0x0");
    constexpr std::string_view kNumbers[] = {
        "SHF",  "SHL",   "SHR",   "IMUL",  "IMUL3", "BFE",  "BFI",  "BMSK", "SGXT", "POPC", "FLO",   "BREV",
        "IABS", "I2F",   "I2FP",  "F2I",   "F2F",   "F2FP", "FADD", "FMUL", "FFMA", "FSEL", "FMNMX", "FRND",
        "MUFU", "HADD2", "HMUL2", "HFMA2", "DADD",  "DMUL", "DFMA", "IDP",  "HMMA", "IMMA", "DMMA",  "QGMMA"};
    return std::find(std::begin(kNumbers), std::end(kNumbers), base) == std::end(kNumbers);
  }

  void set_many(const Instruction& i, Registers& state, std::uint32_t to, Sets::Id value, std::uint32_t predicate) {
    const std::uint32_t words = i.has("128") ? 4 : i.has("64") ? 2 : 1;
    for (std::uint32_t w = 0; w < words; ++w) set(state, to + w, value, predicate);
  }

  void forget_condition(std::string_view name) {
    const std::uint32_t predicate = predicate_of(name.starts_with('!') ? name.substr(1) : name);
    if (predicate == kNone) return;
    views_[predicate].clear();
    views_[predicate | 1].clear();
  }

  // ---- memory

  // The registers between the brackets that name a place: the last of "[R7], desc[UR6][R2.64+0x10]".
  static std::string_view brackets(const Instruction& i) {
    for (auto operand = i.operands.rbegin(); operand != i.operands.rend(); ++operand) {
      const std::size_t open = operand->rfind('[');
      if (open == std::string_view::npos || operand->find("c[0x") != std::string_view::npos) continue;
      const std::string_view rest = operand->substr(open + 1);
      return rest.substr(0, rest.find(']'));
    }
    return "";
  }

  // Accesses to memory, and what they leave in registers. False: it is none.
  bool touch(const Instruction& i, Registers& state, std::uint32_t predicate) {
    const std::string_view base = i.base();
    if (is_any(base, {"STL", "STS"})) {
      if (!i.operands.empty()) {
        const std::uint32_t from = register_of(i.operands.back());
        const std::uint32_t words = i.has("128") ? 4 : i.has("64") ? 2 : 1;
        for (std::uint32_t w = 0; w < words && from != kNone; ++w)
          pool_ = sets_.join(pool_, get(state, from + w, predicate));
      }
      return true;
    }
    const bool reads = is_any(base, {"LDG", "LD", "LDGSTS"}), writes = is_any(base, {"STG", "ST"});
    const bool adds = is_any(base, {"ATOM", "ATOMG", "RED", "REDG"});
    const bool other = base.starts_with("UBLK") || base.starts_with("UTMA") || base.starts_with("SUATOM") ||
                       base.starts_with("MULTIMEM") || base == "LDGMC";
    if (!reads && !writes && !adds && !other) return false;
    if (other) {
      // Which of its operands are addresses, and which way the data go, is not looked into.
      for (const std::string_view operand : i.operands) escape(state, operand, predicate);
      return true;
    }
    note(place(brackets(i), state, predicate), reads ? Mode::read : writes ? Mode::write : Mode::atomic);
    if (writes || base == "LDGSTS" || base == "RED" || base == "REDG") return true;
    std::size_t first = 0;
    while (first < i.operands.size() && is_predicate(i.operands[first])) forget_condition(i.operands[first++]);
    const std::uint32_t to = first < i.operands.size() ? register_of(i.operands[first]) : kNone;
    if (to != kNone) set_many(i, state, to, 0, predicate);
    return true;
  }

  struct Place {
    Sets::Id low = 0, high = 0;
  };

  // "R2.64+0x10", "R2.U32+UR4", "UR4": the halves of an address.
  Place place(std::string_view text, const Registers& state, std::uint32_t predicate) {
    Place out;
    while (!text.empty()) {
      const std::size_t plus = text.find('+');
      const std::string_view part = text.substr(0, plus);
      const std::uint32_t at = register_of(part);
      if (at != kNone) {
        const bool narrow = part.find(".U32") != std::string_view::npos;
        out.low = sets_.join(out.low, get(state, at, predicate));
        if (!narrow) out.high = sets_.join(out.high, get(state, at + 1, predicate));
      }
      text = plus == std::string_view::npos ? "" : text.substr(plus + 1);
    }
    return out;
  }

  // An address is made of a word whose lower half is in its lower half and whose upper half is in its upper; such words
  // lie at multiples of 8.
  void note(const Place& place, Mode mode) {
    CodeAccess access;
    access.mode = mode;
    const auto& low = sets_.of(place.low);
    const auto& high = sets_.of(place.high);
    for (const std::uint32_t value : low) {
      if (value == Sets::kTop) {
        access.anywhere = true;
      } else if ((value & ~Sets::kIndexed) % 8 == 0 && std::binary_search(high.begin(), high.end(), value + 4)) {
        access.origins.push_back({value & ~Sets::kIndexed, (value & Sets::kIndexed) != 0});
      }
    }
    if (access.anywhere || !access.origins.empty()) result_.accesses.insert(std::move(access));
  }

  void escape(const Registers& state, std::string_view operand, std::uint32_t predicate) {
    for (std::size_t at = 0; at < operand.size(); ++at) {
      const bool starts =
          operand[at] == 'R' || (operand[at] == 'U' && at + 1 < operand.size() && operand[at + 1] == 'R');
      if (!starts || (at > 0 && operand[at - 1] != '[' && operand[at - 1] != '+')) continue;
      const std::uint32_t first = register_of(operand.substr(at));
      if (first == kNone) continue;
      note({get(state, first, predicate), get(state, first + 1, predicate)}, Mode::unknown);
    }
  }

  // A function that lies elsewhere may do anything with the pointers that it is given; where they are passed, from R4
  // on. One that lies here is gone through like a jump, with the registers as they are.
  void call(const Instruction& i, const Registers& state) {
    if (target_of(i) != nullptr || calls_ == Calls::harmless) return;
    for (std::uint32_t at = 4; at < 16; at += 2) note({state[at], state[at + 1]}, Mode::unknown);
  }

  ParameterBank bank_;
  Calls calls_;
  std::vector<Instruction> code_;
  std::vector<Flow> flow_;
  std::unordered_map<std::uint32_t, std::uint32_t> index_;  // by address
  Sets sets_;
  Sets::Id pool_ = 0;  // what was put into shared and local memory
  std::array<std::unordered_map<std::uint32_t, Sets::Id>, kPredicates> views_;
  KernelAccesses result_;
};

}  // namespace

KernelAccesses read_sass(std::string_view text, ParameterBank bank, Calls calls) {
  return Reader(text, bank, calls).read();
}

}  // namespace cudadiag::races
