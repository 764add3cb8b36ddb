// Tests what the core dump of the first run itself proves about a failure.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "analyse/graph_nodes.h"
#include "diagnose/facts/report_model.h"
#include "diagnose/failure/tool_evidence.h"
#include "session/session.h"
#include "symbolize/symbolizer.h"
#include "symbolize/tool_results.h"

namespace cudadiag::diagnose {
namespace {

using analyse::Fact;
using analyse::Grade;

constexpr std::uint32_t kUnknown = 719;  // the recorder's code for a failure that is only in the dump

// A process with one launch of a kernel, and the exception in its core dump.
struct Run {
  Run() {
    session::Process& process = session.processes.emplace_back();
    process.record.properties["core_dump"] = "written";
    process.record.functions.emplace_back("_Z4scalePf");
    process.record.sites.emplace_back().function = 1;
    session::Operation& launch = process.record.operations.emplace_back();
    launch.kind = wire::operation::Kind::kernel;
    launch.site = 1;
    shown.exception_name = "Warp Illegal Address";
    shown.kernel = "_Z4scalePf";
  }

  // Returns the failure after it has been weighed by a dump of the process `of`.
  analyse::Failure weighed(const session::Process& of, auto prepare) {
    analyse::Failure failure;
    failure.code = kUnknown;
    failure.process = &session.processes[0];
    failure.evidence.add(Fact::one_running);
    failure.candidates = {{&failure.process->record.operations[0], "next", 3}};
    prepare(failure);
    std::vector<analyse::Failure> failures = {failure};
    symbolize::ToolResults results;
    results.failure = shown;
    results.of_first_run.emplace(&of, shown);
    symbolize::Symbolizer symbolizer(session);
    weigh_by_dump(failures, results, session, symbolizer);
    return failures[0];
  }
  analyse::Failure weighed(auto prepare) { return weighed(session.processes[0], prepare); }
  analyse::Failure weighed(const session::Process& of) {
    return weighed(of, [](auto&) {});
  }
  analyse::Failure weighed() { return weighed(session.processes[0]); }

  session::Session session;
  evidence::DumpedFailure shown;
};

TEST_CASE("the dump proves the only launch that can have run its kernel") {
  const analyse::Failure failure = Run().weighed();
  CHECK(failure.evidence.grade() == Grade::proven);
  CHECK(failure.code == 700);
  CHECK(failure.dumped);
}

TEST_CASE("a dump of another process with the same pid proves nothing") {
  Run run;
  const session::Process other = run.session.processes[0];
  const analyse::Failure failure = run.weighed(other);
  CHECK(failure.evidence.grade() == Grade::bracketed);
  CHECK(failure.code == kUnknown);
  CHECK_FALSE(failure.dumped);
  CHECK(failure.evidence.text().find("code is unknown") != std::string::npos);
}

TEST_CASE("a dump proves no launch if another kernel launched its kernel") {
  Run run;
  run.shown.from_kernel = true;
  CHECK(run.weighed().evidence.grade() == Grade::bracketed);
  CHECK(run.weighed().code == 700);
}

TEST_CASE("a dump of a kernel that no candidate launches weakens the answer") {
  Run run;
  run.shown.kernel = "_Z5otherv";
  CHECK(run.weighed().evidence.grade() == Grade::inferred);
  CHECK(run.weighed().code == 700);
}

// A launch of a graph with two nodes, which run the dump's kernel and were created at lines 1 and `second` of a
// function. Each of the calls of this function has a line of its own.
struct GraphRun : Run {
  explicit GraphRun(std::uint32_t second = 1) {
    session::ProcessRecord& record = session.processes[0].record;
    record.sites.emplace_back();
    session::Graph& graph = record.graphs.emplace_back();
    graph.whole = true;
    for (const std::uint32_t line : {1u, second}) {
      graph.nodes.emplace_back().function = 1;
      record.codes.push_back({"/tmp/cases/train.py", "train", line, 11, std::string("\xef\0", 2)});
      const auto code = static_cast<std::uint32_t>(record.codes.size());
      record.codes.push_back({"/tmp/cases/train.py", "main", 90 + code, 11, std::string("\xef\0", 2)});
      record.python_stacks.push_back({{{code, 0}, {code + 1, 0}}, false});
      graph.nodes.back().site = static_cast<std::uint32_t>(record.python_stacks.size());
      record.sites[graph.nodes.back().site - 1].python = graph.nodes.back().site;
    }
    launch.kind = wire::operation::Kind::graph;
    launch.graph = 1;
    launch.serial = 7;
    launch.ticks = 50;
  }

  session::Operation& launch = session.processes[0].record.operations[0];
};

TEST_CASE("a dump proves the line of a graph's nodes, from wherever its function was called") {
  analyse::Failure failure = GraphRun().weighed();
  CHECK(failure.kind == analyse::Kind::graph_node);
  CHECK(failure.evidence.proves());
  REQUIRE(failure.candidates.size() == 1);
  CHECK(failure.candidates[0].nodes == 2);
  failure = GraphRun(2).weighed();
  CHECK_FALSE(failure.evidence.proves());
  CHECK(failure.candidates.size() == 2);
  CHECK(failure.evidence.text().ends_with(
      "2 lines created nodes that run the kernel shown in the GPU core dump of this run"));
}

TEST_CASE("parameters tell which of a line's nodes ran the dump's kernel") {
  GraphRun run;
  session::ProcessRecord& record = run.session.processes[0].record;
  const auto bytes = [](std::uint64_t value) { return std::string(reinterpret_cast<const char*>(&value), 8); };
  for (const std::uint64_t node : {0, 1}) {
    session::Arguments& kept = record.arguments.emplace_back();
    kept.serial = std::uint64_t{1} << 32 | node;
    kept.thread = wire::intern::kOfNode;
    kept.parameters = {{0, bytes(0x7f0000000000)}, {8, bytes(100 + node)}, {16, std::string(24, 'x')}};
  }
  // The pointer and the structure differ from those of the recording.
  const auto nodes_with = [&](std::uint64_t size) {
    run.shown.state.emplace().parameters = bytes(0x7e0000000000) + bytes(size) + std::string(24, 'y');
    return run.weighed().candidates.at(0);
  };
  CHECK(nodes_with(101).nodes == 1);
  CHECK(nodes_with(101).node_index == 2);
  CHECK(nodes_with(100).node_index == 1);
  CHECK(nodes_with(102).nodes == 2);
  for (const auto flag : {wire::operation::kGraphAltered, wire::operation::kGraphUntold}) {
    run.launch.graph_flags = flag;
    CHECK(nodes_with(101).nodes == 2);
  }
  run.launch.graph_flags = 0;
  record.arguments[0].flags = wire::intern::kCut;
  CHECK(nodes_with(101).nodes == 2);
  record.arguments[0].flags = 0;
  record.arguments[1].parameters[1].bytes = bytes(100);
  CHECK(nodes_with(100).nodes == 2);
  record.arguments.pop_back();
  CHECK(nodes_with(100).nodes == 2);
}

TEST_CASE("a dump proves that the kernel of a node got the freed memory to which the graph points") {
  constexpr std::uint64_t kFreed = 0x7f0000000000;
  GraphRun run;
  session::ProcessRecord& record = run.session.processes[0].record;
  record.allocations.push_back({.serial = 3, .address = kFreed, .bytes = 4096, .made = 10, .freed = 40});
  record.stale_pointers.push_back({.serial = 7, .node = 1, .address = kFreed, .allocation = 3});
  const auto answer = [&](std::uint64_t given, bool other_launch) {
    run.shown.state.emplace().parameters.assign(reinterpret_cast<const char*>(&given), sizeof(given));
    return run.weighed([&](analyse::Failure& failure) {
      analyse::blame_stale_pointer(failure);
      if (other_launch) failure.candidates.push_back({&run.launch, "or this", 4});
    });
  };
  for (const bool other_launch : {false, true}) {
    analyse::Failure failure = answer(kFreed, other_launch);
    CHECK(failure.kind == analyse::Kind::graph_stale_pointer);
    CHECK(failure.evidence.proves());
    REQUIRE(failure.candidates.size() == 1);
    CHECK(failure.candidates[0].node_index == 2);
    CHECK(failure.evidence.text().find("node 2 of its graph points to memory that was freed") != std::string::npos);
    failure = answer(kFreed + 8, other_launch);
    CHECK(failure.kind == analyse::Kind::graph_node);
    CHECK(failure.evidence.proves());
    CHECK(failure.stale == nullptr);
  }
}

TEST_CASE("a dump of one graph's kernel proves nothing about another graph that points to freed memory") {
  constexpr std::uint64_t kFreed = 0x7f0000000000;
  GraphRun run;
  run.launch.ticks = 30;  // before the memory was freed
  session::ProcessRecord& record = run.session.processes[0].record;
  record.functions.emplace_back("_Z5otherv");
  record.graphs.emplace_back(record.graphs[0]);
  for (session::GraphNode& node : record.graphs[1].nodes) node.function = 2;
  record.operations.push_back(run.launch);
  session::Operation& other = record.operations[1];
  other.graph = 2;
  other.serial = 8;
  other.ticks = 50;
  record.allocations.push_back({.serial = 3, .address = kFreed, .bytes = 4096, .made = 10, .freed = 40});
  record.stale_pointers.push_back({.serial = 8, .node = 1, .address = kFreed, .allocation = 3});
  run.shown.state.emplace().parameters.assign(reinterpret_cast<const char*>(&kFreed), sizeof(kFreed));
  const analyse::Failure failure = run.weighed([&](analyse::Failure& before) {
    before.candidates = {{&record.operations[1], "next", 4}, {&record.operations[0], "or this", 3}};
    analyse::blame_stale_pointer(before);
  });
  CHECK(failure.kind == analyse::Kind::graph_node);
  CHECK(failure.stale == nullptr);
  CHECK(failure.candidates.front().operation == &record.operations[0]);
}

TEST_CASE("a dump that was requested in the run that hangs is used for its own process only") {
  session::Session session;
  session.processes.resize(2);
  evidence::DumpedFailure spins;
  spins.kernel = "_Z4spinPiy";
  spins.threads = 32;
  symbolize::ToolResults results;
  results.running_in_first_run[&session.processes[0]] = {spins};
  Finding hang;
  hang.hang.emplace().seconds = 60;
  hang.launch.emplace().mangled = spins.kernel;
  Diagnosis report;
  report.findings = {hang, hang};
  analyse::Failure first, second;
  first.process = &session.processes[0];
  second.process = &session.processes[1];
  add_device(report, session, {}, {&first, &second}, results);
  REQUIRE(report.findings[0].device);
  CHECK(report.findings[0].device->join == "running in this run, same kernel; the grid was not recorded");
  CHECK(report.findings[0].device->of_first_run);
  CHECK_FALSE(report.findings[1].device);
}

}  // namespace
}  // namespace cudadiag::diagnose
