#include "sass/failing_address.h"

#include <algorithm>
#include <set>
#include <utility>

#include "sass/earlier_values.h"

namespace cudadiag::sass {
class FailingAddress::Implementation {
 public:
  Implementation(std::string text, ParameterBank bank, std::uint32_t offset, LaunchState launch)
      : text_(std::move(text)), program_(text_), bank_(bank), launch_(std::move(launch)) {
    for (std::uint32_t at = 0; at < program_.size(); ++at) {
      if (program_[at].address == offset) failing_ = at;
    }
    if (failing_ == kNone) return;
    if (!has_address(program_[failing_])) return;
    paths_.emplace(program_, failing_);
  }

  // Null if the instruction accesses no memory at an address.
  const Opcode* form() const { return paths_ ? program_[failing_].code : nullptr; }
  std::uint32_t bytes() const { return paths_ ? program_[failing_].bytes : 0; }
  std::size_t unknown_opcodes() const { return unknown_.size(); }

  std::optional<std::uint64_t> of(const LaneState& lane) {
    if (!is_readable()) return std::nullopt;
    EarlierValues values(*paths_, bank_, launch_, &lane);
    const auto address = sum(values);
    unknown_.insert(values.unknown_opcodes().begin(), values.unknown_opcodes().end());
    return address;
  }

  bool is_low(const LaneState& lane) {
    if (!is_readable() || !is_wide()) return false;
    EarlierValues values(*paths_, bank_, launch_, &lane);
    const AddressTerm* pair = nullptr;
    for (const AddressTerm& term : terms()) {
      if (term.value.slot == kNone && number_in(term) < 1u << 24) continue;
      if (term.value.slot == kNone || term.width != Width::pair || pair != nullptr) return false;
      pair = &term;
    }
    return pair != nullptr && values.value(pair->value.slot + 1, {failing_}) == 0u;
  }

  Base base(const LaneState* lane) {
    if (!is_readable() || !is_wide()) return {};
    EarlierValues values(*paths_, bank_, launch_, lane);
    Base low{.known = true}, high{.known = true};
    for (const AddressTerm& term : terms()) {
      if (term.value.slot == kNone) continue;
      const bool pair = term.width != Width::half;
      add(low, values.base(term.value.slot, {failing_}));
      if (pair) add(high, values.base(term.value.slot + 1, {failing_}));
    }
    if (!low.known || !high.known) return {};
    Base out{.known = true,
             .words = {},
             .others = low.others || high.others,
             .loaded = low.loaded && high.loaded,
             .through = std::move(low.through)};
    for (const std::uint32_t word : low.words) {
      const bool whole = std::ranges::binary_search(high.words, word + 4);
      whole ? out.words.push_back(word) : void(out.others = true);
    }
    return out;
  }

 private:
  using Width = AddressTerm::Width;

  bool is_readable() const { return paths_ && program_[failing_].readable; }
  bool is_wide() const { return form()->space == Space::global || form()->space == Space::generic; }
  const std::vector<AddressTerm>& terms() const { return program_[failing_].place; }
  static std::uint64_t number_in(const AddressTerm& term) {
    return term.value.number[0].value_or(0) | std::uint64_t{term.value.number[1].value_or(0)} << 32;
  }

  static void add(Base& to, const Base& more) {
    to.known &= more.known;
    to.loaded = (to.loaded || !to.others) && (more.loaded || !more.others) && (to.others || more.others);
    to.others |= more.others;
    to.through.insert(to.through.end(), more.through.begin(), more.through.end());
    to.words.insert(to.words.end(), more.words.begin(), more.words.end());
    std::ranges::sort(to.words);
  }

  std::optional<std::uint64_t> sum(EarlierValues& values) {
    std::uint64_t sum = 0;
    for (const AddressTerm& term : terms()) {
      if (term.value.slot == kNone) {
        sum += number_in(term);
        continue;
      }
      const auto low = values.value(term.value.slot, {failing_});
      if (!low) return std::nullopt;
      std::uint64_t value = std::uint64_t{*low} * term.factor;
      if (term.width != Width::half) {
        const auto high = values.value(term.value.slot + 1, {failing_});
        if (!high || (term.width == Width::unsure && !is_pair(values, term.value.slot, *low, *high))) {
          return std::nullopt;
        }
        value |= std::uint64_t{*high} << 32;
      }
      sum += value;
    }
    return is_wide() ? sum : sum & 0xffffffff;
  }

  // Returns whether two registers are the halves of one number. The upper one must be the sign extension of the lower
  // one, or both must come from one 8-byte parameter.
  bool is_pair(EarlierValues& values, std::uint32_t slot, std::uint32_t low, std::uint32_t high) const {
    if (high == (low >= 0x80000000 ? ~0u : 0u)) return true;
    const Base lower = values.base(slot, {failing_}), upper = values.base(slot + 1, {failing_});
    return lower.known && upper.known && lower.words.size() == 1 && upper.words.size() == 1 &&
           upper.words[0] == lower.words[0] + 4;
  }

  const std::string text_;
  const Program program_;
  const ParameterBank bank_;
  const LaunchState launch_;
  std::uint32_t failing_ = kNone;
  std::optional<Paths> paths_;
  std::set<std::string_view> unknown_;
};

FailingAddress::FailingAddress(std::string text, ParameterBank bank, std::uint32_t offset, LaunchState launch)
    : it_(std::make_unique<Implementation>(std::move(text), bank, offset, std::move(launch))) {}
FailingAddress::FailingAddress(FailingAddress&&) noexcept = default;
FailingAddress::~FailingAddress() = default;

bool FailingAddress::known() const { return it_->form() != nullptr; }
AccessKind FailingAddress::kind() const { return it_->form()->kind; }
Space FailingAddress::space() const { return it_->form()->space; }
std::uint32_t FailingAddress::bytes() const { return it_->bytes(); }
std::optional<std::uint64_t> FailingAddress::of(const LaneState& lane) { return it_->of(lane); }
bool FailingAddress::is_low(const LaneState& lane) { return it_->is_low(lane); }
Base FailingAddress::base(const LaneState* lane) { return it_->base(lane); }
std::uint64_t FailingAddress::unknown_opcodes() const { return it_->unknown_opcodes(); }

}  // namespace cudadiag::sass
