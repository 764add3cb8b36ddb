#include <doctest/doctest.h>

#include <initializer_list>
#include <string>

#include "analyse/grade.h"

namespace cudadiag::analyse {
namespace {

Grade grade_of(std::initializer_list<Fact> facts) {
  Evidence evidence;
  for (const Fact fact : facts) evidence.add(fact);
  return evidence.grade();
}

TEST_CASE("a grade follows from the facts and their order") {
  const auto is = [](Grade wanted, std::initializer_list<Fact> facts) { CHECK(grade_of(facts) == wanted); };
  is(Grade::suspected, {});
  is(Grade::suspected, {Fact::context});
  for (const Fact fact : {Fact::ran_alone, Fact::raised, Fact::returned, Fact::measured, Fact::noted}) {
    is(Grade::proven, {fact});
  }
  is(Grade::bracketed, {Fact::one_running});
  for (const Fact fact : {Fact::several_running, Fact::matched, Fact::then_failed}) is(Grade::inferred, {fact});
  for (const Fact fact : {Fact::none_running, Fact::unchecked, Fact::rule}) is(Grade::suspected, {fact});
  for (const Fact doubt : {Fact::may_be_another, Fact::may_be_others, Fact::may_be_earlier, Fact::weaker,
                           Fact::contradicted, Fact::went_on}) {
    is(Grade::inferred, {Fact::ran_alone, doubt});
    is(Grade::inferred, {Fact::one_running, doubt});
    is(Grade::suspected, {Fact::rule, doubt});  // a doubt never raises a grade
    is(Grade::suspected, {doubt});
  }
  for (const Fact doubt : {Fact::may_be_handled, Fact::may_be_slow, Fact::place_lost}) {
    is(Grade::suspected, {Fact::returned, doubt});
    is(Grade::suspected, {Fact::returned, doubt, Fact::went_on});
  }
  // A fact that names the failure outweighs earlier doubts, but not later ones.
  is(Grade::proven, {Fact::one_running, Fact::may_be_another, Fact::raised});
  is(Grade::inferred, {Fact::raised, Fact::may_be_another});
  is(Grade::inferred, {Fact::one_running, Fact::contradicted, Fact::raised});
  is(Grade::suspected, {Fact::one_running, Fact::place_lost, Fact::raised});
  is(Grade::bracketed, {Fact::several_running, Fact::one_running, Fact::context});
}

TEST_CASE("evidence has a basis, and may be read without one of its facts") {
  Evidence evidence(Fact::one_running, "one is left");
  evidence.add(Fact::may_be_others);
  CHECK(evidence.basis() == Fact::one_running);
  CHECK_FALSE(evidence.names_one());
  CHECK(evidence.without(Fact::may_be_others).names_one());
  CHECK(evidence.without(Fact::may_be_others) == "one is left");
  evidence.add(Fact::may_be_another);
  CHECK_FALSE(evidence.without(Fact::may_be_others).names_one());
  CHECK(Evidence().basis() == Fact::context);
}

TEST_CASE("the clauses of evidence tell what was added") {
  Evidence evidence(Fact::several_running, "three operations may have been running");
  const Evidence before = evidence;
  evidence.add(Fact::raised, "the GPU named one");
  evidence.add("it failed 2 times");
  CHECK(evidence == "three operations may have been running; the GPU named one; it failed 2 times");
  CHECK(evidence.text_since(before) == "the GPU named one; it failed 2 times");
  evidence.append(" of 2");
  evidence.prepend("in a rerun, ");
  CHECK(evidence == "in a rerun, three operations may have been running; the GPU named one; it failed 2 times of 2");
  CHECK(evidence.text_since(before) == evidence.text());
  evidence.retell("one is left");
  CHECK(evidence == "one is left");
  CHECK(evidence.proves());
}

}  // namespace
}  // namespace cudadiag::analyse
