#include <doctest/doctest.h>

#include <algorithm>

#include "analyse/first_failure.h"
#include "analyse/reruns.h"
#include "unit/analyse/runs.h"

using namespace cudadiag;
using namespace cudadiag::analyse;
using Outcome = Rerun::Outcome;

namespace {

std::string kernel_of(const Failure& failure, std::size_t candidate = 0) {
  const auto& record = failure.process->record;
  return record.functions[record.sites[failure.candidates[candidate].operation->site - 1].function - 1];
}

bool says(const Failure& failure, const std::string& what) {
  return failure.evidence.text().find(what) != std::string::npos;
}

std::string disturbances(const Analysis& analysis) {
  std::string texts;
  for (const Note& note : analysis.notes) {
    if (note.code == analyse::NoteCode::values_disturb) texts += note.text;
  }
  return texts;
}

}  // namespace

TEST_CASE("one of several candidates is proven") {
  Runs runs(run_of_two("good", "bad"));
  runs.add(waited_for(run_of_bad(0, 1), 0));
  const Analysis analysis = runs.look();
  REQUIRE(analysis.failures.size() == 1);
  CHECK(analysis.first_grade == Grade::inferred);
  CHECK(analysis.failures[0].evidence.grade() == Grade::proven);
  REQUIRE(analysis.failures[0].candidates.size() == 1);
  CHECK(kernel_of(analysis.failures[0]) == "bad");
  CHECK(analysis.failures[0].process == &runs.session.processes[0]);
  CHECK(analysis.failures[0].evidence ==
        "one of 2 candidates: in a rerun, call 1 of this line ran alone on the GPU and failed");
  REQUIRE(analysis.reruns.size() == 1);
  CHECK(analysis.reruns[0].outcome == Outcome::proven);
}

TEST_CASE("one of several candidates is not proven by a rerun that isolation denied something") {
  for (const char* object : {"127.0.0.1:80", "/proc/self/oom_score_adj"}) {
    Runs runs(run_of_two("good", "bad"));
    runs.add(waited_for(run_of_bad(0, 1), 0));
    runs.session.manifest.passes.back().kept_from = {{session::Deed::connect, object}};
    const Failure failure = runs.look().failures.at(0);
    const bool matters = object[0] != '/';
    CHECK(failure.evidence.grade() == (matters ? Grade::inferred : Grade::proven));
    CHECK(kernel_of(failure) == "bad");
    CHECK(says(failure, "but isolation denied the rerun 127.0.0.1:80, so it may have failed elsewhere") == matters);
  }
}

TEST_CASE("one of several candidates is not proven by a rerun that saw a file which the first run changed") {
  for (const bool one : {false, true}) {
    Runs runs(one ? run_of_bad(0, 1) : run_of_two("good", "bad"));
    runs.add(waited_for(run_of_bad(0, 1), 0));
    runs.session.manifest.passes.back().otherwise = {"/home/user/state.json"};
    const Failure failure = runs.look().failures.at(0);
    CHECK(failure.evidence.grade() == (one ? Grade::proven : Grade::inferred));
    CHECK(says(failure, "but the first run changed /home/user/state.json, so the rerun may have failed elsewhere") !=
          one);
  }
}

TEST_CASE("an operation failed alone only if a rerun proved it, and never a graph") {
  Runs runs(run_of_two("good", "bad"));
  CHECK_FALSE(analyse::failed_alone(runs.look().failures.at(0)));
  runs.add(waited_for(run_of_bad(0, 1), 0));
  const Analysis analysis = runs.look();
  Failure failure = analysis.failures.at(0);
  CHECK(analyse::failed_alone(failure));
  failure.evidence.add(Fact::several_running);  // with MPS, another process may have caused the failure
  CHECK_FALSE(analyse::failed_alone(failure));
  failure.evidence.add(Fact::ran_alone);
  session::Operation graph = *failure.again;
  graph.kind = op::Kind::graph;
  failure.again = &graph;
  CHECK_FALSE(analyse::failed_alone(failure));
}

TEST_CASE("of several calls of one line, the one that also failed in the rerun is taken") {
  Runs runs(run_of_bad(2, 6));
  runs.add(waited_for(run_of_bad(4, 5), 4));
  const Failure failure = runs.look().failures.at(0);
  REQUIRE(failure.candidates.size() == 1);
  CHECK(failure.candidates[0].operation->site_ordinal == 5);
}

TEST_CASE("an operation that the Python hook issued is found again, with its number") {
  Runs runs(run_in_python(2, 6, 100));
  runs.add(waited_for(run_in_python(4, 5, 4), 4));
  const Analysis analysis = runs.look();
  const Failure failure = analysis.failures.at(0);
  CHECK(analysis.reruns[0].outcome == Outcome::proven);
  REQUIRE(failure.candidates.size() == 1);
  CHECK(failure.candidates[0].operation->site_ordinal == 5);
  CHECK(says(failure, "in a rerun, call 5 of this line ran alone"));
  CHECK(failure.again == &runs.session.reruns[0][0].record.operations[4]);
}

TEST_CASE("a different call than in the first run proves the line, not the call") {
  Runs runs(run_of_bad(2, 6));
  runs.add(waited_for(run_of_bad(0, 1), 0));
  Failure failure = runs.look().failures.at(0);
  CHECK(failure.evidence.grade() == Grade::proven);
  CHECK(failure.candidates.size() == 4);
  CHECK(says(failure, "in a rerun, call 1 of this line (one of calls 3 to 6 in the first run) ran alone"));
  Runs bracketed(run_of_bad(2, 3));
  bracketed.add(waited_for(run_of_bad(0, 1), 0));
  failure = bracketed.look().failures.at(0);
  CHECK(failure.candidates.size() == 1);
  CHECK(failure.call_not_known);
  CHECK(says(failure, "in a rerun, call 1 of this line (call 3 in the first run) ran alone"));
  Runs same(run_of_bad(2, 3));
  same.add(waited_for(run_of_bad(2, 3), 2));
  CHECK(!same.look().failures.at(0).call_not_known);
}

TEST_CASE("threads count their calls of a line separately, so the rerun's number does not decide between them") {
  Runs runs(run_of_two("bad", "bad"));
  runs.add(waited_for(run_of_bad(0, 1), 0));
  Failure failure = runs.look().failures.at(0);
  CHECK(failure.evidence.grade() == Grade::proven);
  CHECK(failure.candidates.size() == 2);
  CHECK(failure.call_not_known);
  CHECK(says(failure, "one of 2 candidates: in a rerun, call 1 of this line ran alone"));

  // Only one thread has a candidate with site ordinal 3. The other thread's only candidate is its first call.
  PictureBuilder picture;
  const std::uint32_t sites[] = {picture.site("bad"), picture.site("bad")};
  const std::uint32_t streams[] = {picture.stream(0), picture.stream(0)};
  for (int i = 0; i < 70; ++i) picture.issue_at(sites[0], streams[0]);
  for (int i = 0; i < 3; ++i) picture.issue_at(sites[1], streams[1]);
  Runs many(picture.process);
  many.add(waited_for(run_of_bad(2, 3), 2));
  failure = many.look().failures.at(0);
  CHECK(failure.evidence.grade() == Grade::proven);
  REQUIRE(failure.candidates.size() == 1);
  CHECK(failure.candidates[0].operation->site_ordinal == 3);
  CHECK(failure.call_not_known);
}

TEST_CASE("a different code in the rerun is reported") {
  Runs runs(run_of_bad(0, 1));
  auto again = waited_for(run_of_bad(0, 1), 0);
  again.record.frozen_code = again.record.errors[0].code = 716;
  runs.add(std::move(again));
  const Failure failure = runs.look().failures.at(0);
  CHECK(failure.code == 700);
  CHECK(says(failure, "ran alone on the GPU and failed with code 716"));
}

TEST_CASE("a rerun that fails with another kind of error proves nothing") {
  for (const auto& [first, second] : {std::pair(700, 214), {214, 700}, {700, 710}}) {
    Runs runs(run_of_bad(2, 3));
    session::ProcessRecord& record = runs.session.processes[0].record;
    record.frozen_code = record.errors[0].code = static_cast<std::uint32_t>(first);
    for (int i = 0; i < 2; ++i) {
      auto again = waited_for(run_of_bad(2, 3), 2);
      again.record.frozen_code = again.record.errors[0].code = static_cast<std::uint32_t>(second);
      runs.add(std::move(again));
    }
    const Analysis analysis = runs.look();
    REQUIRE(analysis.failures.size() == 1);
    const Failure& failure = analysis.failures[0];
    CHECK(failure.evidence.grade() == Grade::bracketed);
    CHECK(failure.evidence.clauses().size() == 2);
    CHECK(failure.evidence.clauses().back() ==
          "in a rerun, this line's operation ran alone on the GPU and failed with another kind of error (" +
              std::to_string(second) + "), which proves nothing about this one");
    CHECK(failure.again == nullptr);
    CHECK(analysis.reruns[0].outcome == Outcome::unproven);
  }
  // It does not contradict the first run either.
  Runs runs(run_of_bad(2, 3));
  auto again = run_of_two("another", "other");
  again.record.frozen_code = again.record.errors[0].code = 214;
  runs.add(std::move(again));
  CHECK(runs.look().failures.at(0).evidence.grade() == Grade::bracketed);
}

TEST_CASE("code 719 may stand for any exception while a dump is expected, but not for a failure of the hardware") {
  for (const auto& [code, grade] : {std::pair(710, Grade::proven), {214, Grade::bracketed}}) {
    Runs runs(run_of_bad(2, 3));
    session::ProcessRecord& record = runs.session.processes[0].record;
    record.frozen_code = record.errors[0].code = static_cast<std::uint32_t>(code);
    auto again = waited_for(run_of_bad(2, 3), 2);
    again.record.frozen_code = again.record.errors[0].code = 719;
    again.record.properties["core_dump"] = "armed";
    runs.add(std::move(again));
    CHECK(runs.look().failures.at(0).evidence.grade() == grade);
  }
}

TEST_CASE("a candidate beside lost ones is one of several, also after a rerun") {
  Runs runs(run_of_bad(0, 2));
  session::ProcessRecord& record = runs.session.processes[0].record;
  record.operations.pop_back();
  REQUIRE(first_failure(runs.session.processes[0])->candidates.size() == 1);
  runs.add(waited_for(run_of_bad(0, 1), 0));
  Failure failure = runs.look().failures.at(0);
  CHECK(failure.evidence.grade() == Grade::proven);
  CHECK(says(failure, "in a rerun, call 1 of this line ran alone"));
  runs.session.manifest.passes.back().otherwise = {"/home/user/state.json"};
  failure = runs.look().failures.at(0);
  CHECK(failure.evidence.grade() == Grade::inferred);
}

TEST_CASE("under MPS, what isolation denied a rerun remains a doubt") {
  Runs runs(run_of_two("good", "bad"));
  auto again = waited_for(run_of_bad(0, 1), 0);
  for (session::Process* process : {&runs.session.processes[0], &again}) process->record.properties["mps"] = "1";
  runs.add(std::move(again));
  const auto without_mps = [&] { return runs.look().failures.at(0).evidence.without(Fact::may_be_others).grade(); };
  CHECK(without_mps() == Grade::proven);
  runs.session.manifest.passes.back().kept_from = {{session::Deed::connect, "127.0.0.1:80"}};
  CHECK(without_mps() == Grade::inferred);
}

TEST_CASE("a failure that was not suspected is added to the first one, once") {
  Runs runs(run_of_bad(2, 3));
  for (int i = 0; i < 2; ++i) runs.add(waited_for(run_of_bad(0, 1, "other"), 0));
  const Analysis analysis = runs.look();
  REQUIRE(analysis.failures.size() == 2);
  CHECK(analysis.failures[0].evidence.grade() == Grade::bracketed);
  CHECK(kernel_of(analysis.failures[0]) == "bad");
  CHECK(analysis.failures[0].evidence == first_failure(runs.session.processes[0])->evidence);
  CHECK(analysis.failures[1].evidence.grade() == Grade::proven);
  CHECK(kernel_of(analysis.failures[1]) == "other");
  CHECK(says(analysis.failures[1], "the first run did not suspect it"));
  CHECK(analysis.reruns[1].outcome == Outcome::other);
}

TEST_CASE("a failure at an operation that the rerun did not wait for counts if it leaves fewer candidates") {
  Runs fewer(run_of_two("good", "bad"));
  fewer.add(run_of_bad(0, 1));
  const Failure failure = fewer.look().failures.at(0);
  CHECK(failure.evidence.grade() == Grade::bracketed);
  CHECK(kernel_of(failure) == "bad");
}

TEST_CASE("a single remaining operation is in doubt if a rerun failed at other code") {
  for (const char* elsewhere : {"other", "bad"}) {
    Runs runs(run_of_bad(2, 3));
    runs.add(run_of_two("another", elsewhere));
    const Analysis analysis = runs.look();
    CHECK(analysis.reruns[0].outcome == Outcome::failed);
    CHECK(analysis.failures.at(0).evidence.grade() ==
          (std::string(elsewhere) == "bad" ? Grade::bracketed : Grade::inferred));
    CHECK(says(analysis.failures.at(0), "could not have been running") == (std::string(elsewhere) != "bad"));
  }
  // The same holds for several candidates, and under MPS.
  Runs several(run_of_two("good", "bad"));
  several.add(run_of_two("another", "other"));
  CHECK(says(several.look().failures.at(0), "none of these operations could have been running"));
  Runs shared(run_of_bad(2, 3));
  shared.session.processes[0].record.properties["mps"] = "1";
  shared.add(run_of_two("another", "other"));
  CHECK(says(shared.look().failures.at(0), "this operation could not have been running"));
  Runs denied(run_of_bad(2, 3));
  denied.add(run_of_two("another", "other"));
  denied.session.manifest.passes.back().kept_from = {{session::Deed::connect, "127.0.0.1:80"}};
  CHECK(denied.look().failures.at(0).evidence.grade() == Grade::bracketed);
}

TEST_CASE("reruns that do not fail leave grade and candidates, and are reported") {
  Runs runs(run_of_two("good", "bad"));
  runs.add(passed(5));
  Failure failure = runs.look().failures.at(0);
  CHECK(failure.evidence.grade() == Grade::inferred);
  CHECK(failure.candidates.size() == 2);
  CHECK(failure.evidence.text().ends_with(
      "; a rerun that waited there did not fail: a race, or an intermittent failure"));
  CHECK(runs.look().vanished == Vanished::open);
  runs.add(passed(5));
  CHECK(runs.look().failures[0].evidence.text().ends_with(
      "; 2 reruns that waited there did not fail: a race, or an intermittent failure"));
  runs.add(passed(0));
  CHECK(runs.look().failures[0].evidence.text().ends_with(
      "; 3 reruns did not fail, with or without waiting there: the failure is intermittent"));
  CHECK(runs.look().vanished == Vanished::comes_and_goes);
  Runs not_waited(run_of_bad(2, 3));
  not_waited.add(passed(0));
  CHECK(not_waited.look().failures[0].evidence.text().ends_with(
      "; a rerun reached this call, did not wait for it, and did not fail"));
}

TEST_CASE("a rerun that ended before it reached the failing call says nothing about a race") {
  Runs runs(run_of_bad(2, 3));
  runs.add(passed(2, 2));
  const Analysis analysis = runs.look();
  CHECK(analysis.reruns[0].outcome == Outcome::not_reached);
  CHECK(
      analysis.failures[0].evidence.text().ends_with("; a rerun ended without a failure before it reached this call"));
  runs.session.manifest.passes[1].end = {77, {}};
  CHECK(
      runs.look().failures[0].evidence.text().ends_with("; a rerun ended with status 77 before it reached this call"));
  runs.add(passed(3));
  CHECK(runs.look().failures[0].evidence.text().ends_with(
      "; a rerun that waited there did not fail: a race, or an intermittent failure"));
}

TEST_CASE("the result of a rerun without values counts if reading values changed what the program did") {
  Runs runs(run_of_bad(2, 3));
  runs.add_hooked(passed(1, 1));
  runs.session.manifest.passes[1].end = {1, {}};
  const Analysis alone = runs.look();
  CHECK(alone.reruns[0].disturbed);
  CHECK(alone.failures[0].evidence.text().ends_with(
      "; a rerun, in which cudadiag read values, ended with status 1 before it reached this call"));
  CHECK(disturbances(alone).empty());

  Runs proven = runs;
  proven.add(waited_for(run_of_bad(2, 3), 2));
  CHECK(proven.look().failures[0].evidence == "in a rerun, call 3 of this line ran alone on the GPU and failed");
  CHECK(disturbances(proven.look()) ==
        "rerun 1: while cudadiag read values, the program ended with status 1 before it reached the "
        "failing call; rerun 2 read no values");

  runs.add(passed(1, 1));
  CHECK_FALSE(runs.look().reruns[1].disturbed);
  CHECK(runs.look().failures[0].evidence.text().ends_with(
      "; a rerun ended without a failure before it reached this call"));
  CHECK(disturbances(runs.look()).empty());
}

TEST_CASE("a rerun whose operators were inspected says nothing about a race, nor does one that failed differently") {
  const auto with = [](session::DeliveryKind told, int status) {
    Runs runs(run_of_bad(2, 3));
    runs.add_hooked(passed(5), told);
    runs.session.manifest.passes[1].end = {status, {}};
    return runs;
  };
  CHECK(with(session::DeliveryKind::line, 0).look().vanished == Vanished::open);
  CHECK(with(session::DeliveryKind::line, 1).look().vanished == Vanished::no);
  Runs runs = with(session::DeliveryKind::call, 0);
  CHECK(runs.look().reruns[0].disturbed);
  CHECK(runs.look().vanished == Vanished::no);
  Runs failed = runs;
  failed.add(waited_for(run_of_bad(2, 3), 2));
  CHECK(disturbances(failed.look()) ==
        "rerun 1: while cudadiag read values, the program did not fail; rerun 2 read no values");
  runs.add(passed(5));
  CHECK(runs.look().vanished == Vanished::open);
  CHECK(disturbances(runs.look()).empty());
  CHECK_FALSE(runs.look().reruns[0].disturbed);  // storing values made no difference
  runs.session.manifest.passes[1].values = false;
  CHECK_FALSE(runs.look().reruns[0].disturbed);
  Runs traced(run_of_bad(2, 3));  // proves only the failure of the first run
  traced.add_hooked(waited_for(run_of_bad(0, 1, "other"), 0), session::DeliveryKind::checking);
  CHECK(traced.look().failures.size() == 1);
  CHECK(traced.look().failures[0].evidence.grade() == Grade::bracketed);
  CHECK(traced.look().reruns[0].disturbed);
}

TEST_CASE("a race is concluded only if a rerun that waited for nothing failed again") {
  Runs runs(run_of_bad(2, 3));
  runs.session.manifest.passes[0].end = {1, {}};
  runs.add(passed(5));
  const auto with_device = [&](session::ProcessEnd end, const char* dump = "",
                               std::optional<session::CutShort> cut_short = {}) {
    Runs more = runs;
    session::Pass& pass = more.session.manifest.passes.emplace_back();
    pass.kind = session::PassKind::device;
    pass.end = end;
    pass.dump = dump;
    pass.cut_short = cut_short;
    more.session.reruns.emplace_back();
    return more.look().vanished;
  };
  CHECK(with_device({0, {}}, "1.gpucore") == Vanished::race);
  CHECK(with_device({1, {}}, "1.gpucore") == Vanished::race);
  CHECK(with_device({0, {}}) == Vanished::comes_and_goes);
  CHECK(with_device({1, {}}) == Vanished::open);  // the rerun may have failed for any reason
  CHECK(with_device({2, {}}) == Vanished::open);
  CHECK(with_device({{}, 9}) == Vanished::open);
  CHECK(with_device({0, {}}, "", session::CutShort::time_limit) == Vanished::open);
  runs.session.manifest.passes[0].end = {0, {}};
  CHECK(with_device({0, {}}) == Vanished::open);
  runs.add(waited_for(run_of_bad(2, 3), 2));
  CHECK(with_device({0, {}}, "1.gpucore") == Vanished::no);
}

TEST_CASE("a rerun that the recorder could not watch says nothing") {
  Runs runs(run_of_bad(2, 3));
  runs.add(passed(0, 0));
  runs.session.reruns[0][0].record.state = wire::area::State::disabled;
  const Analysis analysis = runs.look();
  CHECK(analysis.reruns[0].outcome == Outcome::not_recorded);
  CHECK(analysis.failures[0].evidence == first_failure(runs.session.processes[0])->evidence);
}

TEST_CASE("a failed rerun whose recording is lost says nothing, which is noted") {
  Runs runs(run_of_bad(2, 3));
  runs.add(passed(0, 0));
  runs.session.manifest.passes.back().failed_after = 0.3;
  for (const bool any_area : {true, false}) {
    if (!any_area) runs.session.reruns[0].clear();
    const Analysis analysis = runs.look();
    CHECK(analysis.reruns[0].outcome == Outcome::not_recorded);
    CHECK(analysis.failures[0].evidence == first_failure(runs.session.processes[0])->evidence);
    CHECK(std::count_if(analysis.notes.begin(), analysis.notes.end(),
                        [](const Note& note) { return note.code == analyse::NoteCode::rerun_lost; }) == 1);
  }
}

TEST_CASE("each of several processes has its own failure confirmed") {
  Runs runs(run_of_bad(2, 3));
  runs.session.processes.push_back(run_of_bad(5, 6));
  runs.add(waited_for(run_of_bad(2, 3), 2));
  SUBCASE("the second one did not fail again") {
    const Analysis analysis = runs.look();
    CHECK(analysis.failures[0].evidence.grade() == Grade::proven);
    CHECK(analysis.failures[1].evidence.grade() == Grade::bracketed);
    CHECK(analysis.failures[1].again == nullptr);
  }
  SUBCASE("the second one failed again") {
    runs.session.reruns[0].push_back(waited_for(run_of_bad(6, 7), 6));
    const Analysis analysis = runs.look();
    CHECK(says(analysis.failures[0], "call 3 of this line ran alone on the GPU and failed"));
    CHECK(says(analysis.failures[1], "call 7 of this line (call 6 in the first run) ran alone on the GPU and failed"));
  }
  SUBCASE("another worker took the work of the first one") {
    for (auto* processes : {&runs.session.processes, &runs.session.reruns[0]}) {
      for (std::size_t i = 0; i < processes->size(); ++i) (*processes)[i].rank = static_cast<int>(i);
    }
    runs.session.processes.pop_back();
    runs.session.reruns[0][0].rank = 3;
    CHECK(runs.look().failures.at(0).evidence.grade() == Grade::proven);
  }
}

TEST_CASE("a candidate that one rerun ruled out and another one proved had been suspected") {
  Runs runs(run_of_two("good", "bad"));
  runs.add(waited_for(run_of_bad(0, 1), 0));
  runs.add(waited_for(run_of_bad(0, 1, "good"), 0));
  const Analysis analysis = runs.look();
  REQUIRE(analysis.failures.size() == 2);
  CHECK(kernel_of(analysis.failures[0]) == "bad");
  CHECK(kernel_of(analysis.failures[1]) == "good");
  CHECK(analysis.failures[1].evidence.text().ends_with("; the first run suspected it too"));
}

TEST_CASE("without native stacks the calls before the hook are those of the same site") {
  auto first = run_of_bad(2, 3), again = run_of_bad(2, 3);
  first.record.properties["python"] = again.record.properties["python"] = "3.12.3";
  again.record.properties["python.hook"] = "on";
  Runs runs(std::move(first));
  runs.add(waited_for(std::move(again), 2));
  const Failure failure = runs.look().failures.at(0);
  CHECK(failure.evidence == "in a rerun, call 3 of this line ran alone on the GPU and failed");
  CHECK_FALSE(failure.call_not_known);
}

TEST_CASE("a rerun of a different source text neither proves nor refutes what the first run saw") {
  auto first = run_of_bad(2, 3);
  first.record.codes.emplace_back().file = "train.py";
  first.record.python_stacks.push_back({{{1, 0x40}}, false});
  first.record.sites[0].python = 1;
  Runs alone(first);
  const std::string because = alone.look().failures.at(0).evidence.text();
  for (auto rerun : {waited_for(first, 2), waited_for(run_of_bad(0, 1, "other"), 0), passed(3)}) {
    Runs runs(first);
    runs.add(std::move(rerun));
    runs.session.manifest.passes.back().rewritten = {"train.py"};
    const Analysis analysis = runs.look();
    CHECK(analysis.failures[0].evidence.grade() == Grade::bracketed);
    CHECK(analysis.failures[0].evidence == because);
    CHECK(analysis.failures[0].rewritten == "train.py");
    CHECK(analysis.vanished == Vanished::no);
    const bool failed = analysis.reruns[0].failure.has_value();
    REQUIRE(analysis.failures.size() == (failed ? 2 : 1));
    if (failed) CHECK(says(analysis.failures[1], "in a rerun of an edited source, "));
  }
}

TEST_CASE("the result of a rerun leads if the first run's recording is damaged") {
  Runs runs(run_of_bad(2, 3));
  runs.session.processes[0].record.operations.clear();
  runs.session.processes[0].record.damaged = 7;
  runs.add(waited_for(run_of_bad(2, 3), 2));
  const Analysis analysis = runs.look();
  REQUIRE(analysis.failures.size() == 2);
  CHECK(analysis.failures[0].evidence.grade() == Grade::proven);
  CHECK(analysis.failures[0].evidence.text().ends_with("; the first run's record of it is damaged"));
  CHECK(analysis.failures[1].damaged);
}

TEST_CASE("a rerun that gave up waiting says nothing about a race") {
  Runs runs(run_of_bad(2, 3));
  auto again = passed(1);
  again.record.notes.push_back({"wait-given-up", "an operation did not finish"});
  runs.add(std::move(again));
  const Analysis analysis = runs.look();
  CHECK(analysis.reruns[0].gave_up);
  CHECK(analysis.vanished == Vanished::no);
  CHECK(analysis.failures[0].evidence.text().ends_with(
      "; a rerun did not fail, but a wait in it took longer than --wait-limit"));
  REQUIRE(analysis.notes.size() == 1);
  CHECK(analysis.notes[0].code == analyse::NoteCode::wait_given_up);
}

TEST_CASE("a rerun that failed after it gave up waiting did not fail elsewhere") {
  Runs runs(run_of_bad(2, 3));
  session::Process again = run_of_two("another", "bad");
  again.record.notes.push_back({"wait-given-up", "an operation did not finish"});
  runs.add(std::move(again));
  const Analysis analysis = runs.look();
  CHECK(analysis.reruns[0].outcome == Outcome::given_up);
  CHECK(analysis.reruns[0].came_back());
  CHECK(analysis.notes[0].text == "rerun 1: an operation did not finish");
}

TEST_CASE("the number of failures is counted over the completed runs") {
  Runs runs(run_of_bad(2, 3));
  for (int i = 0; i < 2; ++i) runs.add(passed(5));
  runs.add(passed(0), session::CutShort::time_limit);
  runs.add(waited_for(run_of_bad(2, 3), 2));
  const Analysis analysis = runs.look();
  CHECK(analysis.failures[0].evidence.grade() == Grade::proven);
  CHECK(analysis.failures[0].evidence.text().ends_with("; it failed in 2 of 4 runs"));
  CHECK(analysis.reruns[2].outcome == Outcome::cut_short);
}

TEST_CASE("a pass without the recorder is not judged") {
  Runs runs(run_of_bad(2, 3));
  runs.add(waited_for(run_of_bad(2, 3), 2));
  runs.session.manifest.passes.emplace_back().kind = session::PassKind::device;
  runs.session.reruns.emplace_back();
  const Analysis analysis = runs.look();
  CHECK(analysis.reruns[1].outcome == Outcome::not_watched);
  CHECK(analysis.failures[0].evidence == "in a rerun, call 3 of this line ran alone on the GPU and failed");
}

TEST_CASE("a rerun that was cut short says nothing, unless it had failed") {
  Runs runs(run_of_bad(2, 3));
  runs.add(passed(5), session::CutShort::interrupted);
  CHECK(runs.look().failures[0].evidence == first_failure(runs.session.processes[0])->evidence);
  runs.add(waited_for(run_of_bad(2, 3), 2), session::CutShort::interrupted);
  CHECK(runs.look().failures[0].evidence.grade() == Grade::proven);
}

TEST_CASE("a manifest with fewer passes than reruns, or more, is read as far as both go") {
  Runs runs(run_of_bad(2, 3));
  runs.add(waited_for(run_of_bad(2, 3), 2));
  runs.session.manifest.passes.resize(1);
  CHECK(runs.look().failures[0].evidence.grade() == Grade::bracketed);
  runs.session.manifest.passes.resize(9);
  CHECK(runs.look().failures[0].evidence.grade() == Grade::proven);
}
