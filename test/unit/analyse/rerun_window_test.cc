#include <doctest/doctest.h>

#include <algorithm>

#include "analyse/reruns.h"
#include "unit/analyse/runs.h"

namespace cudadiag::analyse {
namespace {

TEST_CASE("the window of calls begins shortly before the candidates' calls") {
  Runs runs(run_of_bad(40, 42));
  const RerunWindow window = rerun_window(runs.look(), WindowReach::calls);
  CHECK(window.text.ends_with("@33"));
  CHECK(window.text.find(',') == std::string::npos);
  CHECK(window.words == "2 candidates and the calls around them");
  CHECK(rerun_window(Runs(run_of_bad(2, 3)).look(), WindowReach::calls).text.ends_with("@1"));
}

TEST_CASE("a Python program's window includes its sites without their native stacks") {
  Runs runs(run_in_python(40, 41, 100));
  const std::string text = rerun_window(runs.look(), WindowReach::calls).text;
  CHECK(std::count(text.begin(), text.end(), ',') == 1);
  CHECK((text + ",").find("@0,") != std::string::npos);
  CHECK((text + ",").find("@33,") != std::string::npos);
  // A hook that calls all operators counts all calls of the site.
  CHECK(rerun_window(runs.look(), WindowReach::calls, true).text.find("@0") == std::string::npos);
  Runs native(run_in_python(40, 41, 100));
  native.session.processes[0].record.properties.clear();
  CHECK(rerun_window(native.look(), WindowReach::calls).text.ends_with("@33"));
}

TEST_CASE("for a backward kernel, the hook starts one backward() call earlier, at the forward pass") {
  session::Process process = run_of_bad(40, 41);
  for (std::size_t i = 0; i < process.record.operations.size(); ++i) {
    process.record.operations[i].origin.node_thread = 1;
    process.record.operations[i].origin.graph_task = static_cast<std::uint16_t>(1 + i / 12);
  }
  CHECK(rerun_window(Runs(process).look(), WindowReach::calls).text.ends_with("@33,near=12"));
  for (session::Operation& operation : process.record.operations) operation.origin.node_thread = 0;
  CHECK(rerun_window(Runs(process).look(), WindowReach::calls).text.ends_with("@33"));
}

TEST_CASE("the window of sites contains all calls of lines and kernels, and those that reruns saw") {
  Runs runs(run_of_bad(40, 41));
  const std::string calls = rerun_window(runs.look(), WindowReach::calls).text;
  const std::string sites = rerun_window(runs.look(), WindowReach::sites).text;
  CHECK(sites.find(calls.substr(0, calls.find('@')) + "@1") != std::string::npos);
  CHECK(std::count(sites.begin(), sites.end(), ',') == 1);
  runs.add(run_of_bad(0, 1, "other"));
  const std::string more = rerun_window(runs.look(), WindowReach::sites).text;
  CHECK(std::count(more.begin(), more.end(), ',') == 3);
}

TEST_CASE("the widest window is everything, and the others are empty without an asynchronous failure") {
  Runs runs(passed(0));
  CHECK(rerun_window(runs.look(), WindowReach::everything).text == "all");
  CHECK(rerun_window(runs.look(), WindowReach::calls).text.empty());
  CHECK(rerun_window(runs.look(), WindowReach::sites).text.empty());
}

TEST_CASE("the window of chosen sites") {
  const session::Session session = Runs(run_of_two("good", "bad")).session;
  const auto named = [](const std::string& name) {
    return [name](const session::Process& process, const session::Site& site) {
      return process.record.functions[site.function - 1] == name;
    };
  };
  CHECK(window_of_sites(session, named("bad")).words == "1 call site");
  CHECK(window_of_sites(session, named("none")).text.empty());
}

}  // namespace
}  // namespace cudadiag::analyse
