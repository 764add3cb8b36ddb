#include "sass/failing_address.h"

#include <algorithm>
#include <set>
#include <utility>

#include "sass/code/memory_operands.h"
#include "sass/failure/evaluate.h"

namespace cudadiag::sass {
namespace {

struct Term {
  enum class Width { half, pair, unsure };  // unsure: 64 bits, or sign-extended 32 bits
  std::uint32_t slot = kNone;               // kNone for a number, and for a register that is always 0
  std::uint64_t number = 0;
  Width width = Width::half;
  std::uint32_t factor = 1;
};

std::optional<Term> term_of(std::string_view text, bool wide, bool alone) {
  Term term;
  if (const auto low = immediate(text, 0)) {
    term.number = *low;
    if (text.starts_with('-')) term.number |= ~std::uint64_t{0} << 32;
    return term;
  }
  const std::string_view name = text.substr(0, text.find('.')), suffix = text.substr(name.size());
  term.slot = register_of(name);
  if (term.slot == kNone) return name == "RZ" || name == "URZ" ? std::optional(term) : std::nullopt;
  if (suffix == ".64") term.width = Term::Width::pair;
  if (suffix.empty() && wide) term.width = alone ? Term::Width::pair : Term::Width::unsure;
  if (suffix == ".X4" || suffix == ".X8" || suffix == ".X16") {
    term.factor = suffix == ".X4" ? 4 : suffix == ".X8" ? 8 : 16;
    return wide ? std::nullopt : std::optional(term);
  }
  const bool plain = suffix.empty() || suffix == ".64" || suffix == ".U32";
  return plain ? std::optional(term) : std::nullopt;
}

std::optional<std::vector<Term>> terms_of(std::string_view place, bool wide) {
  std::vector<Term> terms;
  const std::vector<std::string_view> parts = terms_in(place);
  const auto registers =
      std::count_if(parts.begin(), parts.end(), [](std::string_view part) { return !immediate(part, 0); });
  for (const std::string_view part : parts) {
    const auto term = term_of(part, wide, registers == 1);
    if (!term) return std::nullopt;
    terms.push_back(*term);
  }
  return terms.empty() ? std::nullopt : std::optional(terms);
}

}  // namespace

class FailingAddress::Implementation {
 public:
  Implementation(std::string text, ParameterBank bank, std::uint32_t offset, LaunchState launch)
      : text_(std::move(text)), program_(text_), bank_(bank), launch_(std::move(launch)) {
    for (std::uint32_t at = 0; at < program_.size(); ++at) {
      if (program_[at].address == offset) failing_ = at;
    }
    if (failing_ == kNone) return;
    form_ = memory_form_of(program_[failing_]);
    if (!form_) return;
    terms_ = terms_of(memory_place_of(program_[failing_]), is_wide());
    paths_.emplace(program_, failing_);
  }

  const std::optional<MemoryForm>& form() const { return form_; }
  std::uint32_t bytes() const { return form_ ? memory_bytes_of(program_[failing_]) : 0; }
  std::size_t unknown_opcodes() const { return unknown_.size(); }

  std::optional<std::uint64_t> of(const LaneState& lane) {
    if (!terms_) return std::nullopt;
    Evaluator evaluator(*paths_, bank_, launch_, &lane);
    const auto address = sum(evaluator);
    unknown_.insert(evaluator.unknown_opcodes().begin(), evaluator.unknown_opcodes().end());
    return address;
  }

  bool is_low(const LaneState& lane) {
    if (!terms_ || !is_wide()) return false;
    Evaluator evaluator(*paths_, bank_, launch_, &lane);
    const Term* pair = nullptr;
    for (const Term& term : *terms_) {
      if (term.slot == kNone && term.number < 1u << 24) continue;
      if (term.slot == kNone || term.width != Term::Width::pair || pair != nullptr) return false;
      pair = &term;
    }
    return pair != nullptr && evaluator.word(pair->slot + 1, {failing_}) == 0u;
  }

  Base base(const LaneState* lane) {
    if (!terms_ || !is_wide()) return {};
    Evaluator evaluator(*paths_, bank_, launch_, lane);
    Base low{.known = true}, high{.known = true};
    for (const Term& term : *terms_) {
      if (term.slot == kNone) continue;
      const bool pair = term.width != Term::Width::half;
      add(low, evaluator.base(term.slot, {failing_}));
      if (pair) add(high, evaluator.base(term.slot + 1, {failing_}));
    }
    if (!low.known || !high.known) return {};
    Base out{.known = true,
             .words = {},
             .others = low.others || high.others,
             .loaded = low.loaded && high.loaded,
             .through = std::move(low.through)};
    for (const std::uint32_t word : low.words) {
      const bool whole = std::binary_search(high.words.begin(), high.words.end(), word + 4);
      whole ? out.words.push_back(word) : void(out.others = true);
    }
    return out;
  }

 private:
  bool is_wide() const { return form_->space == Space::global || form_->space == Space::generic; }

  static void add(Base& to, const Base& more) {
    to.known &= more.known;
    to.loaded = (to.loaded || !to.others) && (more.loaded || !more.others) && (to.others || more.others);
    to.others |= more.others;
    to.through.insert(to.through.end(), more.through.begin(), more.through.end());
    to.words.insert(to.words.end(), more.words.begin(), more.words.end());
    std::sort(to.words.begin(), to.words.end());
  }

  std::optional<std::uint64_t> sum(Evaluator& evaluator) {
    std::uint64_t sum = 0;
    for (const Term& term : *terms_) {
      if (term.slot == kNone) {
        sum += term.number;
        continue;
      }
      const auto low = evaluator.word(term.slot, {failing_});
      if (!low) return std::nullopt;
      std::uint64_t value = std::uint64_t{*low} * term.factor;
      if (term.width != Term::Width::half) {
        const auto high = evaluator.word(term.slot + 1, {failing_});
        if (!high || (term.width == Term::Width::unsure && !is_pair(evaluator, term.slot, *low, *high))) {
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
  bool is_pair(Evaluator& evaluator, std::uint32_t slot, std::uint32_t low, std::uint32_t high) const {
    if (high == (low >= 0x80000000 ? ~0u : 0u)) return true;
    const Base lower = evaluator.base(slot, {failing_}), upper = evaluator.base(slot + 1, {failing_});
    return lower.known && upper.known && lower.words.size() == 1 && upper.words.size() == 1 &&
           upper.words[0] == lower.words[0] + 4;
  }

  const std::string text_;
  const Program program_;
  const ParameterBank bank_;
  const LaunchState launch_;
  std::uint32_t failing_ = kNone;
  std::optional<MemoryForm> form_;
  std::optional<std::vector<Term>> terms_;
  std::optional<Paths> paths_;
  std::set<std::string_view> unknown_;
};

FailingAddress::FailingAddress(std::string text, ParameterBank bank, std::uint32_t offset, LaunchState launch)
    : it_(std::make_unique<Implementation>(std::move(text), bank, offset, std::move(launch))) {}
FailingAddress::FailingAddress(FailingAddress&&) noexcept = default;
FailingAddress::~FailingAddress() = default;

bool FailingAddress::known() const { return it_->form().has_value(); }
AccessKind FailingAddress::kind() const { return it_->form()->kind; }
Space FailingAddress::space() const { return it_->form()->space; }
std::uint32_t FailingAddress::bytes() const { return it_->bytes(); }
std::optional<std::uint64_t> FailingAddress::of(const LaneState& lane) { return it_->of(lane); }
bool FailingAddress::is_low(const LaneState& lane) { return it_->is_low(lane); }
Base FailingAddress::base(const LaneState* lane) { return it_->base(lane); }
std::uint64_t FailingAddress::unknown_opcodes() const { return it_->unknown_opcodes(); }

}  // namespace cudadiag::sass
