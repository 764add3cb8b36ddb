#include <doctest/doctest.h>

#include "supervise/reruns/rerun.h"
#include "unit/supervise/failing_session.h"

namespace cudadiag::supervise {
namespace {

using analyse::WindowReach;
using Outcome = analyse::Rerun::Outcome;

// Searches for the failing operation of one session.
class Search {
 public:
  explicit Search(RerunPlan plan = {}, const session::Session& session = failing_session())
      : session_(session), plan_(std::move(plan)), analysis_(analyse::analyse(session_)), windows_(plan_) {}

  // Returns the text of the next window; empty if the search is over.
  std::string next() {
    const auto step = windows_.next(analysis_);
    without_values = step && step->without_values;
    return step ? step->window.text : "";
  }
  void note(Outcome outcome, bool disturbed = false, bool bad_end = false) {
    analyse::Rerun rerun;
    rerun.end.bad = bad_end;
    rerun.outcome = outcome;
    rerun.disturbed = disturbed;
    windows_.note(rerun);
  }
  std::string window(WindowReach reach) const { return analyse::rerun_window(analysis_, reach).text; }

  bool without_values = false;

 private:
  session::Session session_;
  RerunPlan plan_;
  analyse::Analysis analysis_;
  WindowSequence windows_;
};

TEST_CASE("the first window is the suspects' calls, and a proof ends the search") {
  Search search;
  CHECK(search.next() == search.window(WindowReach::calls));
  search.note(Outcome::proven);
  CHECK(search.next().empty());
}

TEST_CASE("a failure elsewhere widens the window, and so does waiting that was given up") {
  Search search;
  search.next();
  search.note(Outcome::failed);
  CHECK(search.next() == search.window(WindowReach::sites));
  search.note(Outcome::given_up);
  CHECK(search.next() == search.window(WindowReach::everything));
  search.note(Outcome::failed);
  CHECK(search.next().empty());
}

TEST_CASE("a window that the user requested is the only one") {
  RerunPlan plan;
  plan.reach = WindowReach::sites;
  Search search(plan);
  CHECK(search.next() == search.window(WindowReach::sites));
  search.note(Outcome::failed);
  CHECK(search.next().empty());

  plan.reach.reset();
  plan.window = analyse::RerunWindow{"1f@3", "launch 3"};
  Search by_hand(plan);
  CHECK(by_hand.next() == "1f@3");
  by_hand.note(Outcome::failed);
  CHECK(by_hand.next().empty());
}

TEST_CASE("reruns without a failure are repeated as many times as requested") {
  RerunPlan plan;
  plan.options.repeat = 3;
  Search search(plan);
  for (int run = 0; run < 3; ++run) {
    CHECK(search.next() == search.window(WindowReach::calls));
    search.note(run == 1 ? Outcome::not_reached : Outcome::did_not_fail);
  }
  CHECK(search.next().empty());
}

TEST_CASE("a rerun that could not be recorded, or was denied something, ends the search") {
  for (const Outcome outcome : {Outcome::not_recorded, Outcome::kept_from, Outcome::other, Outcome::cut_short}) {
    Search search;
    search.next();
    search.note(outcome);
    CHECK(search.next().empty());
  }
}

TEST_CASE("one rerun reads no values if reading them may be why the previous one did not fail") {
  Search search;
  search.next();
  CHECK_FALSE(search.without_values);
  search.note(Outcome::did_not_fail, true);
  CHECK(search.next() == search.window(WindowReach::calls));
  CHECK(search.without_values);
  SUBCASE("it was not: the program does not fail either way") {
    search.note(Outcome::did_not_fail);
    CHECK(search.next().empty());
  }
  SUBCASE("it was: the program failed elsewhere, and further reruns read none") {
    search.note(Outcome::failed);
    CHECK(search.next() == search.window(WindowReach::sites));
    CHECK(search.without_values);
  }
}

TEST_CASE("no rerun repeats one that fails in another way with values and without") {
  RerunPlan plan;
  plan.options.repeat = 3;
  Search search(plan);
  search.next();
  search.note(Outcome::not_reached, true, true);
  CHECK(search.next() == search.window(WindowReach::calls));
  SUBCASE("it fails in the same way") {
    search.note(Outcome::not_reached, false, true);
    CHECK(search.next().empty());
  }
  SUBCASE("it ends without an error") {
    search.note(Outcome::not_reached);
    CHECK(search.next() == search.window(WindowReach::calls));
  }
}

TEST_CASE("if everything is proven, there is no further window") {
  session::Session session = failing_session();
  session.processes.front().record.state = wire::area::State::finished;
  session.processes.front().record.errors.clear();
  Search search({}, session);
  CHECK(search.next().empty());
}

}  // namespace
}  // namespace cudadiag::supervise
