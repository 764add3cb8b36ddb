#include "replay/verdict.h"

#include <doctest/doctest.h>

#include "unit/replay/sample_launch.h"

using namespace cudadiag;
using namespace cudadiag::replay;

namespace {

Outcome outcome_of(std::string_view answer, bool cut_short = false, std::optional<Dumped> dumped = {}) {
  return judge(test::sample_launch(), read_answer(answer), cut_short, std::move(dumped)).outcome;
}

Dumped at(const char* function, std::uint64_t offset, std::uint32_t exception = 14) {
  return {Instruction{function, offset}, exception};
}

session::ReplayTally tally(unsigned as_it_did, unsigned otherwise, unsigned did_not_fail) {
  return {as_it_did + otherwise + did_not_fail, as_it_did, otherwise, did_not_fail};
}

}  // namespace

TEST_CASE("the same error is the same failure") {
  CHECK(outcome_of("launching\nresult 700\n") == Outcome::as_it_did);
  CHECK(outcome_of("launching\nrefused 700\n") == Outcome::as_it_did);
  CHECK(outcome_of("launching\nresult 719\n") == Outcome::otherwise);
  CHECK(outcome_of("launching\nresult 0\n") == Outcome::did_not_fail);
}

TEST_CASE("the same error at a different instruction is a different failure") {
  CHECK(outcome_of("launching\nresult 700\n", false, at("_Z5scalePff", 0x90)) == Outcome::as_it_did);
  CHECK(outcome_of("launching\nresult 700\n", false, at("_Z5scalePff", 0xa0)) == Outcome::otherwise);
  CHECK(outcome_of("launching\nresult 700\n", false, at("_Z4fillPf", 0x90)) == Outcome::otherwise);
  // The driver wrote a dump, and then killed the process.
  CHECK(outcome_of("launching\n", false, at("_Z5scalePff", 0x90)) == Outcome::as_it_did);
}

TEST_CASE("a failed assertion that is reported as a trap is the same failure only at the same instruction") {
  SavedLaunch launch = test::sample_launch();
  const auto outcome = [&](std::uint32_t saved, const char* answer, std::optional<Dumped> dumped) {
    launch.failure->code = saved;
    return judge(launch, read_answer(answer), false, std::move(dumped)).outcome;
  };
  const Dumped same = at("_Z5scalePff", 0x90, 12), other = at("_Z5scalePff", 0xa0, 12);
  CHECK(outcome(710, "launching\nresult 719\n", same) == Outcome::as_it_did);
  CHECK(outcome(710, "launching\nresult 719\n", other) == Outcome::otherwise);
  CHECK(outcome(710, "launching\nresult 719\n", {}) == Outcome::otherwise);
  CHECK(outcome(710, "launching\nresult 700\n", same) == Outcome::otherwise);
  CHECK(outcome(719, "launching\nresult 710\n", same) == Outcome::otherwise);
}

TEST_CASE("if the original run left a dump, a replay fails in the same way only with an equal dump") {
  const Dumped first = at("_Z5scalePff", 0x90);
  const auto outcome = [&](std::optional<Dumped> dumped, Outcome judged = Outcome::as_it_did) {
    return judged_by(first, Run{judged, 0, {}, std::move(dumped)}).outcome;
  };
  CHECK(outcome(first) == Outcome::as_it_did);
  CHECK(outcome(at("_Z5scalePff", 0xa0)) == Outcome::otherwise);
  CHECK(outcome(at("_Z5scalePff", 0x90, 12)) == Outcome::otherwise);
  CHECK(outcome(std::nullopt) == Outcome::otherwise);
  CHECK(outcome(std::nullopt, Outcome::hung) == Outcome::hung);
}

TEST_CASE("a process without an answer after the launch crashed or hung") {
  CHECK(outcome_of("launching\n") == Outcome::crashed);
  CHECK(outcome_of("launching\nresult 70") == Outcome::crashed);
  CHECK(outcome_of("launching\n", true) == Outcome::hung);
}

TEST_CASE("for a launch that could not be issued, the reason is given") {
  const Run run = judge(test::sample_launch(), read_answer("cannot cuInit returned 100\n"), false);
  CHECK(run.outcome == Outcome::impossible);
  CHECK(run.why == "cuInit returned 100");
  CHECK(judge(test::sample_launch(), {}, false).why == "the replay's process ended before the launch");
  CHECK(judge(test::sample_launch(), {}, true).why == "the replay was not ready in time");
}

TEST_CASE("replays are counted and summarised") {
  session::ReplayTally counted;
  for (const Outcome outcome : {Outcome::as_it_did, Outcome::did_not_fail, Outcome::hung, Outcome::impossible}) {
    add(counted, Run{outcome});
  }
  CHECK(counted.runs == 4);
  CHECK(counted.made() == 3);
  CHECK(counted.failed() == 2);
  CHECK(session::sentence(counted) == "reproduces alone: 1 of 3, 1 failed differently");
  CHECK(session::sentence(tally(20, 0, 0)) == "reproduces alone: 20 of 20");
  CHECK(session::sentence(tally(0, 2, 1)) == "fails alone, but differently: 2 of 3");
  CHECK(session::sentence(tally(0, 0, 5)) ==
        "does not fail alone: it depends on what runs at the same time, or on something that was not saved");
  const std::string alone = session::sentence(tally(0, 0, 5), true);
  CHECK(alone ==
        "the saved launch does not reproduce the failure, although the launch failed alone in the rerun: something "
        "that was not saved matters (memory that was not reached, or GPU state)");
  CHECK(session::sentence(tally(20, 0, 0), true) == "reproduces alone: 20 of 20");
  CHECK(session::sentence({}) == "not repeated alone yet");
}

TEST_CASE("a launch that does not fail alone proves no race if part of its memory was not saved") {
  SavedLaunch launch = test::sample_launch();
  session::ReplayTally counted = tally_for(launch);
  CHECK(counted.unsaved == (1 << 20) - 1024);  // the pinned block does not count, because nothing points to it
  CHECK(counted.lacks_more);
  add(counted, Run{Outcome::did_not_fail});
  CHECK(session::sentence(counted) ==
        "does not fail alone, but 1047552 bytes of the memory that it could reach was not saved");
  counted.unsaved = 0;
  CHECK(session::sentence(counted) == "does not fail alone, but part of the memory that it could reach was not saved");
  counted.unsaved = std::uint64_t{3} << 20;
  add(counted, Run{Outcome::otherwise});
  CHECK(session::sentence(counted) ==
        "fails alone, but differently: 1 of 2; 3 MiB of the memory that it could reach was not saved");
  const auto read = session::parse_replay_tally(session::write_replay_tally(counted));
  REQUIRE(read);
  CHECK(session::sentence(*read) == session::sentence(counted));
}

TEST_CASE("for a launch that was not replayed, the reason is given") {
  session::ReplayTally counted;
  counted.why = "the program's GPU is unknown";
  CHECK(session::sentence(counted) == "not repeated alone yet: the program's GPU is unknown");
  add(counted, Run{Outcome::impossible, 0, "cuInit returned 100"});
  const auto read = session::parse_replay_tally(session::write_replay_tally(counted));
  REQUIRE(read);
  CHECK(session::sentence(*read) == "the launch could not be repeated alone: the program's GPU is unknown");
}

TEST_CASE("a tally is read back, but invalid text is not") {
  const session::ReplayTally counted = tally(3, 1, 2);
  const auto read = session::parse_replay_tally(session::write_replay_tally(counted));
  REQUIRE(read);
  CHECK(session::sentence(*read) == session::sentence(counted));
  for (const char* text :
       {"", "[]", "{}", R"({"runs":1})",
        R"({"runs":9,"as_it_did":1,"otherwise":0,"did_not_fail":0,"hung":0,"crashed":0,"impossible":0})",
        R"({"runs":-1,"as_it_did":-1,"otherwise":0,"did_not_fail":0,"hung":0,"crashed":0,"impossible":0})"}) {
    CAPTURE(text);
    CHECK(!session::parse_replay_tally(text));
  }
}
