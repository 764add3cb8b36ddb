#include "sass/failure/evaluate.h"

#include <algorithm>
#include <cstring>

#include "sass/code/memory_operands.h"

namespace cudadiag::sass {
namespace {

constexpr int kDeepest = 100;  // limits the recursion through values computed from other values
constexpr std::size_t kMostSums = 20'000;
constexpr std::uint32_t kLeastUpperHalf = 0x1000;  // upper halves of 64-bit offsets are less than this, or negative

}  // namespace

Evaluator::Evaluator(Paths& paths, ParameterBank bank, const LaunchState& launch, const LaneState* lane)
    : paths_(paths), program_(paths.program()), bank_(bank), launch_(launch), lane_(lane) {
  if (lane == nullptr) return;
  for (At at = 0; at < program_.size(); ++at) {
    if (program_[at].address == lane->stands) stands_ = at;
  }
  if (!paths_.can_stand(stands_)) stands_ = kNone;
}

std::optional<std::uint32_t> Evaluator::kept(Slot slot) const {
  if (lane_ == nullptr) return std::nullopt;
  if (is_predicate_slot(slot)) {
    const bool uniform = is_uniform_slot(slot);
    const auto& bits = uniform ? lane_->uniform_predicates : lane_->predicates;
    const Slot bit = slot - (uniform ? kFirstUniformPredicate : kFirstPredicate);
    return bits ? std::optional((*bits >> bit) & 1) : std::nullopt;
  }
  const bool uniform = is_uniform_slot(slot);
  const auto& registers = uniform ? lane_->uniform_registers : lane_->registers;
  const Slot index = slot - (uniform ? kUniform : 0);
  return slot < kStack && index < registers.size() ? std::optional(registers[index]) : std::nullopt;
}

std::optional<std::uint32_t> Evaluator::word(Slot slot, Moment moment) {
  if (slot == kNone || is_predicate_slot(slot)) return std::nullopt;
  const auto known = words_.find({slot, moment});
  if (known != words_.end()) return known->second;
  if (depth_ >= kDeepest) return std::nullopt;
  words_[{slot, moment}] = std::nullopt;  // a value that depends on itself is unknown
  ++depth_;
  std::optional<std::uint32_t> value;
  if (stands_ != kNone && paths_.is_untouched(slot, moment, stands_)) value = kept(slot);
  if (!value) value = undone(slot, moment);
  if (!value) value = computed(slot, moment);
  --depth_;
  return words_[{slot, moment}] = value;
}

// Recovers the value that a register had before the failure. Works only if a single instruction has written to the
// register since, and that instruction added a number to it.
std::optional<std::uint32_t> Evaluator::undone(Slot slot, Moment moment) {
  if (stands_ == kNone || !paths_.is_untouched_before(slot, moment)) return std::nullopt;
  const auto by = paths_.written_once_since(slot, stands_);
  if (!by || *by == paths_.failing()) return std::nullopt;
  const Instruction& i = program_[*by];
  const std::string_view base = without_u(i.base());
  const Parts parts = parts_of(i);
  if (!i.predicate.empty() || register_of(parts.destination) != slot || i.has("64") || i.has("WIDE")) {
    return std::nullopt;
  }
  const bool adds = is_any(base, {"IADD3", "IADD", "VIADD"}) ||
                    (base == "IMAD" && i.has("IADD") && parts.values.size() == 3 && parts.values[1] == "0x1");
  const auto is_it = [slot](std::string_view value) { return register_of(value) == slot; };
  const auto self = std::find_if(parts.values.begin(), parts.values.end(), is_it);
  if (!adds || i.has("X") || std::count_if(parts.values.begin(), parts.values.end(), is_it) != 1 ||
      self->find_first_of("-~|") != std::string_view::npos) {
    return std::nullopt;
  }
  // With 0 in place of the register, the instruction computes the number that it added.
  const Operands operands{[&](std::string_view text, std::uint32_t half) -> std::optional<std::uint32_t> {
                            return is_it(text) ? std::optional(0u) : since(text, half, *by);
                          },
                          [](std::string_view) { return std::optional<bool>(); }};
  const auto rest = compute_word(i, 0, operands).word;
  const auto now = kept(slot);
  return rest && now ? std::optional(*now - *rest) : std::nullopt;
}

// Returns the value of an operand of an instruction that ran exactly once after the failing one.
std::optional<std::uint32_t> Evaluator::since(std::string_view text, std::uint32_t half, At at) {
  if (const auto place = parse_constant(text)) {
    return place->index == kNone ? constant(place->offset + 4 * half) : std::nullopt;
  }
  const std::uint32_t slot = register_of(text);
  if (slot == kNone) return std::nullopt;
  const auto written = paths_.written_once_since(slot + half, stands_);
  const bool untouched = paths_.is_untouched(slot + half, {paths_.failing()}, stands_);
  if (untouched) return kept(slot + half);
  return written && *written < at ? kept(slot + half) : std::nullopt;
}

Paths::Guard Evaluator::guard(Moment moment) {
  const auto holds = truth(program_[moment.at].predicate, moment);
  return !holds ? Paths::Guard::unknown : *holds ? Paths::Guard::holds : Paths::Guard::fails;
}

std::optional<Evaluator::At> Evaluator::definition(Slot slot, Moment moment) {
  return paths_.definition(slot, moment.at, [&](At each) { return guard(paths_.last_before(each, moment)); });
}

std::optional<std::uint32_t> Evaluator::computed(Slot slot, Moment moment) {
  const auto by = definition(slot, moment);
  if (!by) return std::nullopt;
  const Moment then = paths_.last_before(*by, moment);
  const Instruction& i = program_[*by];
  const std::size_t first = first_value(i);
  const std::uint32_t to = first < i.operands.size() ? register_of(i.operands[first]) : kNone;
  if (to == kNone || slot < to || slot - to > 3) return std::nullopt;
  if (is_any(i.base(), {"S2R", "S2UR", "CS2R"})) return special(i, slot - to);
  const Operands operands{[&](std::string_view text, std::uint32_t half) { return operand(text, half, then); },
                          [&](std::string_view predicate) { return truth(predicate, then); }};
  const Computed made = compute_word(i, slot - to, operands);
  if (made.known == Known::nothing) unknown_.insert(i.opcode);
  return made.word;
}

std::optional<std::uint32_t> Evaluator::operand(std::string_view text, std::uint32_t half, Moment moment) {
  if (const auto place = parse_constant(text)) {
    if (place->index == kNone) return constant(place->offset + 4 * half);
    const auto index = word(place->index, moment);
    return index ? constant(place->offset + *index + 4 * half) : std::nullopt;
  }
  const std::uint32_t slot = register_of(text);
  return slot == kNone ? std::nullopt : word(slot + half, moment);
}

std::optional<std::uint32_t> Evaluator::special(const Instruction& i, std::uint32_t half) const {
  if (i.operands.size() != 2) return std::nullopt;
  const std::string_view what = i.operands[1];
  if (what == "SRZ") return 0;
  if (lane_ == nullptr || half != 0 || i.base() == "CS2R") return std::nullopt;
  const std::size_t axis = what.ends_with(".X") ? 0 : what.ends_with(".Y") ? 1 : what.ends_with(".Z") ? 2 : 3;
  if (axis < 3 && what.starts_with("SR_TID.")) return lane_->thread[axis];
  if (axis < 3 && what.starts_with("SR_CTAID.")) return lane_->block[axis];
  if (what == "SR_LANEID") return lane_->lane;
  // The index of the block in its cluster; 0 without clusters.
  if (what == "SR_CgaCtaId" && !launch_.clusters) return 0;
  return std::nullopt;
}

std::optional<std::uint32_t> Evaluator::constant(std::uint32_t offset) const {
  const std::uint32_t byte = offset - bank_.offset;
  if (offset >= bank_.offset && byte % 4 == 0 && byte < launch_.parameters.size()) {
    if (launch_.parameters.size() - byte < 4) return std::nullopt;
    std::uint32_t value = 0;
    std::memcpy(&value, launch_.parameters.data() + byte, sizeof value);
    return value;
  }
  const auto size = size_in_bank(bank_.offset, offset);
  const auto& sizes = size && size->of_grid ? launch_.grid : launch_.block;
  return size && sizes ? std::optional((*sizes)[size->axis]) : std::nullopt;
}

std::optional<bool> Evaluator::truth(std::string_view predicate, Moment moment) {
  const bool negated = predicate.starts_with('!');
  const std::string_view name = predicate.substr(negated ? 1 : 0);
  if (name == "PT" || name == "UPT") return !negated;
  const Slot slot = predicate_slot(name);
  if (slot == kNone) return std::nullopt;
  const auto result = [negated](std::optional<bool> value) {
    return value ? std::optional(*value != negated) : std::nullopt;
  };
  const auto known = truths_.find({slot, moment});
  if (known != truths_.end()) return result(known->second);
  if (depth_ >= kDeepest) return std::nullopt;
  truths_[{slot, moment}] = std::nullopt;
  ++depth_;
  std::optional<bool> value;
  const Instruction& failing = program_[paths_.failing()];
  if (stands_ != kNone && paths_.is_untouched(slot, moment, stands_)) {
    if (const auto bit = kept(slot)) value = *bit != 0;
  }
  // The failing instruction ran, so its condition was true.
  if (!value && predicate_slot(failing.predicate) == slot && paths_.is_untouched_before(slot, moment)) {
    value = !failing.predicate.starts_with('!');
  }
  if (!value) {
    if (const auto by = definition(slot, moment)) {
      const Moment then = paths_.last_before(*by, moment);
      const Operands operands{[&](std::string_view text, std::uint32_t half) { return operand(text, half, then); },
                              [&](std::string_view each) { return truth(each, then); }};
      value = compute_predicate(program_[*by], name, operands);
    }
  }
  --depth_;
  truths_[{slot, moment}] = value;
  return result(value);
}

// ---- the terms of an address

Base Evaluator::base(Slot slot, Moment moment) {
  const Sum sum = sum_of(slot, moment);
  if (sum.open || sum.mixed) return {};
  return {true,
          {sum.words.begin(), sum.words.end()},
          sum.others,
          sum.others && !sum.made,
          {sum.through.begin(), sum.through.end()}};
}

const Evaluator::Sum Evaluator::kMade{.others = true, .made = true};

Evaluator::Sum Evaluator::joined(const Sum& a, const Sum& b) {
  if (a.open || b.open) return a.open ? b : a;
  if (a.mixed || b.mixed || a.words != b.words || a.others != b.others) return {.mixed = true};
  Sum out = a;
  out.made |= b.made;
  out.through.insert(b.through.begin(), b.through.end());
  return out;
}

Evaluator::Sum Evaluator::added(const Sum& a, const Sum& b) {
  if (a.mixed || b.mixed) return {.mixed = true};
  // Accepts a loop only if each iteration adds numbers, not parameter words, to the value.
  if (a.open || b.open) {
    const Sum& other = a.open ? b : a;
    return other.words.empty() && !other.others ? Sum{.open = true} : Sum{.mixed = true};
  }
  Sum out = a;
  out.others |= b.others;
  out.made |= b.made;
  out.through.insert(b.through.begin(), b.through.end());
  for (const std::uint32_t each : b.words) {
    if (!out.words.insert(each).second) return {.mixed = true};  // a word that is added twice
  }
  return out;
}

Evaluator::Sum Evaluator::sum_of(Slot slot, Moment moment) {
  if (slot == kNone) return {};
  const Key key{slot, moment};
  const auto known = sums_.find(key);
  if (known != sums_.end()) return known->second;
  if (summing_.contains(key)) return {.open = true};
  if (++sums_done_ > kMostSums || summing_.size() > kDeepest) return {.mixed = true};
  summing_.insert(key);
  Sum out{.open = true};
  const auto one = definition(slot, moment);
  const auto all = one ? std::optional(std::vector<At>{*one}) : paths_.definitions(slot, moment.at);
  if (!all) out = {.mixed = true};
  const auto width = [&](At by) -> std::uint32_t {
    const auto& operands = program_[by].operands;
    const std::size_t first = first_value(program_[by]);
    const std::uint32_t to = first < operands.size() ? register_of(operands[first]) : kNone;
    return to == kNone || slot < to ? 4 : slot - to;
  };
  if (all) {
    for (const At by : *all) out = joined(out, sum_made_by(paths_.last_before(by, moment), width(by)));
  }
  summing_.erase(key);
  // In a loop, `out` may depend on a sum that is not complete yet. Cache `out` only if no other sum is in progress.
  if (summing_.empty() || !out.open) {
    if (summing_.empty()) sums_[key] = out;
  }
  return out;
}

Evaluator::Sum Evaluator::sum_of_operand(std::string_view text, std::uint32_t half, Moment moment) {
  if (text == "RZ" || text == "URZ" || immediate(text, 0)) return {};
  // A value that is subtracted or complemented is not a term of the sum.
  if (text.find_first_of("-~|") != std::string_view::npos) {
    const Sum taken = sum_of_operand(text.substr(1), half, moment);
    return taken.words.empty() && !taken.others && !taken.mixed ? Sum{} : kMade;
  }
  if (const auto place = parse_constant(text)) {
    const std::uint32_t offset = place->offset + 4 * half;
    const bool parameter = offset >= bank_.offset && offset - bank_.offset < bank_.size;
    if (place->index != kNone) return {.mixed = true};
    return parameter ? Sum{.words = {offset - bank_.offset}} : Sum{};
  }
  const std::uint32_t slot = register_of(text);
  return slot == kNone ? kMade : sum_of(slot + half, moment);
}

Evaluator::Sum Evaluator::sum_made_by(Moment moment, std::uint32_t half) {
  const Instruction& i = program_[moment.at];
  const std::string_view base = without_u(i.base());
  const Parts parts = parts_of(i);
  const auto of = [&](std::size_t value, std::uint32_t its) -> Sum {
    if (value >= parts.values.size()) return {.mixed = true};
    // A large constant may be the upper half of a pointer that the code contains.
    const auto upper = i.has("X") ? immediate(parts.values[value], 0) : std::nullopt;
    if (upper && std::min(*upper, ~*upper) >= kLeastUpperHalf) return kMade;
    return sum_of_operand(parts.values[value], its, moment);
  };
  const bool pair = i.has("64");
  if (is_any(i.base(), {"S2R", "S2UR", "CS2R"})) return {};
  if (is_any(base, {"MOV", "R2UR", "LDC", "LDCU"})) return of(0, half);
  if (is_any(base, {"IADD3", "IADD", "VIADD"})) {
    Sum sum;
    for (std::size_t value = 0; value < parts.values.size(); ++value) sum = added(sum, of(value, pair ? half : 0));
    return sum;
  }
  if (base == "IMAD") {
    const bool once = parts.values.size() > 1 && parts.values[1] == "0x1";
    const Sum product = once && !i.has("WIDE") && !i.has("HI") ? of(0, 0) : Sum{};
    return added(product, of(2, i.has("WIDE") ? half : 0));
  }
  if (base == "LEA") {
    const bool whole = !i.has("HI") && !parts.values.empty() && parts.values.back() == "0x0";
    return added(whole ? of(0, 0) : Sum{}, of(1, 0));
  }
  if (base == "SEL") {
    const auto truth_now = parts.conditions.size() == 1 ? truth(parts.conditions[0], moment) : std::nullopt;
    if (truth_now) return of(*truth_now ? 0 : 1, pair ? half : 0);
    return joined(of(0, pair ? half : 0), of(1, pair ? half : 0));
  }
  if (is_any(base, {"SHF", "SHL", "SHR", "HFMA2", "SGXT", "BMSK", "POPC", "FLO"})) return {};
  return is_any(i.base(), {"LDG", "LD"}) ? loaded(i, moment) : kMade;
}

Evaluator::Sum Evaluator::loaded(const Instruction& i, Moment moment) {
  Sum out{.others = true};
  for (const std::string_view term : terms_in(memory_place_of(i))) {
    if (immediate(term, 0)) continue;
    const Sum its = sum_of_operand(term.substr(0, term.find('.')), 0, moment);
    out.through.insert(its.words.begin(), its.words.end());
    out.through.insert(its.through.begin(), its.through.end());
  }
  return out;
}

}  // namespace cudadiag::sass
