#include "analyse/grade.h"

namespace cudadiag::analyse {
namespace {

enum class Weight { names, doubts, remains, says };

struct Row {
  Fact fact;
  Weight weight;
  Grade grade;
};

constexpr Row kRows[] = {
    {Fact::ran_alone, Weight::names, Grade::proven},
    {Fact::raised, Weight::names, Grade::proven},
    {Fact::returned, Weight::names, Grade::proven},
    {Fact::measured, Weight::names, Grade::proven},
    {Fact::noted, Weight::names, Grade::proven},
    {Fact::one_running, Weight::names, Grade::bracketed},
    {Fact::several_running, Weight::names, Grade::inferred},
    {Fact::matched, Weight::names, Grade::inferred},
    {Fact::then_failed, Weight::names, Grade::inferred},
    {Fact::none_running, Weight::names, Grade::suspected},
    {Fact::unchecked, Weight::names, Grade::suspected},
    {Fact::rule, Weight::names, Grade::suspected},
    {Fact::may_be_another, Weight::doubts, Grade::inferred},
    {Fact::may_be_others, Weight::doubts, Grade::inferred},
    {Fact::may_be_earlier, Weight::doubts, Grade::inferred},
    {Fact::weaker, Weight::doubts, Grade::inferred},
    {Fact::contradicted, Weight::remains, Grade::inferred},
    {Fact::went_on, Weight::doubts, Grade::inferred},
    {Fact::may_be_handled, Weight::doubts, Grade::suspected},
    {Fact::may_be_slow, Weight::doubts, Grade::suspected},
    {Fact::place_lost, Weight::remains, Grade::suspected},
    {Fact::context, Weight::says, Grade::suspected},
};

const Row& row_of(Fact fact) { return *std::ranges::find(kRows, fact, &Row::fact); }

}  // namespace

Grade grade(Fact fact) { return row_of(fact).grade; }

void Evidence::add(Fact fact, std::string clause) {
  if (fact != Fact::context) facts_.push_back(fact);
  if (!clause.empty()) clauses_.push_back(std::move(clause));
}

void Evidence::append(std::string_view text) {
  if (clauses_.empty()) clauses_.emplace_back();
  clauses_.back() += text;
}

void Evidence::prepend(std::string_view text) {
  if (clauses_.empty()) clauses_.emplace_back();
  clauses_.front().insert(0, text);
}

void Evidence::retell(std::string clause) { clauses_ = {std::move(clause)}; }

Evidence Evidence::without(Fact fact) const {
  Evidence others = *this;
  std::erase(others.facts_, fact);
  return others;
}

Grade Evidence::grade() const {
  Grade grade = Grade::suspected, best = Grade::proven;
  for (const Fact fact : facts_) {
    const Row& row = row_of(fact);
    grade = row.weight == Weight::names ? row.grade : std::max(grade, row.grade);
    if (row.weight == Weight::remains) best = std::max(best, row.grade);
  }
  return std::max(grade, best);
}

Fact Evidence::basis() const {
  const auto found =
      std::find_if(facts_.rbegin(), facts_.rend(), [](Fact fact) { return row_of(fact).weight == Weight::names; });
  return found == facts_.rend() ? Fact::context : *found;
}

std::string Evidence::text_since(const Evidence& before) const {
  const auto& old = before.clauses_;
  const bool grew = old.size() <= clauses_.size() && std::equal(old.begin(), old.end(), clauses_.begin());
  return joined(grew ? old.size() : 0);
}

std::string Evidence::joined(std::size_t from) const {
  std::string text;
  for (std::size_t i = from; i < clauses_.size(); ++i) text += (text.empty() ? "" : "; ") + clauses_[i];
  return text;
}

}  // namespace cudadiag::analyse
