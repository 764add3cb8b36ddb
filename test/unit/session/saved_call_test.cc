#include <doctest/doctest.h>

#include <fstream>

#include "session/saved_results.h"
#include "session/session.h"
#include "unit/scratch_folder.h"

using namespace cudadiag::session;

namespace {

std::optional<SavedCall> read_call(const std::string& text) {
  const cudadiag::test::ScratchFolder scratch;
  std::ofstream(scratch.path() / "call.json") << text;
  return read_saved_call(scratch.path());
}

}  // namespace

TEST_CASE("a saved call is read completely") {
  const auto call =
      read_call(R"({"operator":"aten::embedding","python":"/usr/bin/python3","bytes":48,"tensors":[{},{}],)"
                R"("missing":["an argument of type Generator",5]})");
  REQUIRE(call);
  CHECK(call->op == "aten::embedding");
  CHECK(call->python == "/usr/bin/python3");
  CHECK(call->bytes == 48);
  CHECK(call->tensors == 2);
  CHECK(call->missing == std::vector<std::string>{"an argument of type Generator"});
}

TEST_CASE("an invalid saved call is rejected") {
  for (const char* text : {"", "[]", "{}", R"({"operator":"a"})", R"({"operator":"a","python":"python3"})",
                           R"({"operator":1,"python":"p"})", "{"}) {
    CAPTURE(text);
    CHECK(!read_call(text));
  }
  CHECK(!read_saved_call("/nonexistent"));
  const auto odd = read_call(R"({"operator":"a","python":"/p","bytes":-1,"tensors":{},"missing":"x"})");
  REQUIRE(odd);
  CHECK((odd->bytes == 0 && odd->tensors == 0 && odd->missing.empty()));
}

TEST_CASE("the script's status is its outcome") {
  const auto outcome = [](std::optional<int> code, const char* cut_short = "") {
    return replay_outcome(Witness{{code, {}}, cut_short, 1});
  };
  CHECK(replay_outcome({}) == ReplayOutcome::not_run);
  CHECK(outcome(0) == ReplayOutcome::does_not_reproduce);
  CHECK(outcome(10) == ReplayOutcome::reproduces);
  CHECK(outcome(2) == ReplayOutcome::not_possible);
  CHECK(outcome({}) == ReplayOutcome::not_possible);
  CHECK(outcome(10, "time limit") == ReplayOutcome::not_possible);
}
