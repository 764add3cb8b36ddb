// Tests what a core dump proves about a failure: that of the first run itself, and that of a rerun.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "analyse/first_failure.h"
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

  // Puts the call sites at lines 1, 2, … of a Python file.
  void add_lines() {
    session::ProcessRecord& record = session.processes[0].record;
    for (std::uint32_t id = 1; id <= record.sites.size(); ++id) {
      record.codes.push_back({"/tmp/cases/train.py", "train", id, 11, std::string("\xef\0", 2)});
      record.python_stacks.push_back({{{static_cast<std::uint32_t>(record.codes.size()), 0}}, false});
      record.sites[id - 1].python = static_cast<std::uint32_t>(record.python_stacks.size());
    }
  }

  // Returns the failure after it has been weighed by a dump of a rerun.
  analyse::Failure weighed_by_rerun(auto prepare) {
    analyse::Failure failure;
    failure.code = 700;
    failure.process = &session.processes[0];
    failure.candidates = {{&failure.process->record.operations[0], "next", 3}};
    prepare(failure);
    std::vector<analyse::Failure> failures = {failure};
    symbolize::ToolResults results;
    results.failure = shown;
    symbolize::Symbolizer symbolizer(session);
    weigh_by_dump(failures, results, session, symbolizer);
    return failures[0];
  }

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

// The first run's records of other operations are lost.
TEST_CASE("without all records, the dump proves only the line of a kernel that no other line launches") {
  Run run;
  session::ProcessRecord& record = run.session.processes[0].record;
  record.state = wire::area::State::frozen;
  record.frozen_code = kUnknown;
  record.contexts.emplace_back().markers = wire::context::Markers::on;
  session::Stream& stream = record.streams.emplace_back();
  stream.context = 0;
  stream.issued = 3;
  session::Operation& launch = record.operations[0];
  launch.stream = 0;
  launch.ordinal = 1;
  launch.flags = wire::operation::kReturned;
  const auto weighed = [&] {
    return run.weighed([&](analyse::Failure& failure) { failure = *analyse::first_failure(run.session.processes[0]); });
  };
  analyse::Failure failure = weighed();
  CHECK(failure.evidence.grade() == Grade::inferred);
  CHECK(failure.evidence.text().ends_with("1 such launches could have been running; the records of others are lost"));

  run.add_lines();
  failure = weighed();
  CHECK(failure.evidence.proves());
  CHECK(failure.call_not_known);
  record.sites.push_back(record.sites[0]);  // another line, which is not known
  record.sites[1].python = 0;
  CHECK(weighed().evidence.grade() == Grade::inferred);
  record.sites[1].function = 0;  // a launch of a kernel without a name
  record.sites[1].kind = wire::operation::Kind::kernel;
  CHECK(weighed().evidence.grade() == Grade::inferred);
  record.sites.pop_back();
  CHECK(weighed().evidence.proves());
  // Not all operations could be recorded.
  stream.issued = 1;
  record.sites[0].python = 0;
  CHECK(weighed().evidence.proves());
  record.dropped_operations = 1;
  CHECK(weighed().evidence.grade() == Grade::inferred);
}

TEST_CASE("a launch of a kernel without a name may have run the dump's kernel") {
  Run run;
  session::ProcessRecord& record = run.session.processes[0].record;
  record.sites.emplace_back();
  record.operations.push_back(record.operations[0]);
  record.operations[1].site = 2;
  const analyse::Failure failure = run.weighed([&](analyse::Failure& before) {
    before.candidates.push_back({&record.operations[1], "or this", 4});
  });
  CHECK_FALSE(failure.evidence.proves());
  CHECK(failure.candidates.size() == 2);
}

TEST_CASE("a dump does not bring back a place that was not recorded, and outweighs a rerun that failed elsewhere") {
  const auto grade_after = [](Fact fact) {
    return Run().weighed([&](analyse::Failure& failure) { failure.evidence.add(fact); }).evidence.grade();
  };
  CHECK(grade_after(Fact::place_lost) == Grade::suspected);
  CHECK(grade_after(Fact::contradicted) == Grade::proven);
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

TEST_CASE("a dump proves no node if nodes that are not known may have run its kernel") {
  for (const bool conditional : {true, false}) {
    GraphRun run;
    session::Graph& graph = run.session.processes[0].record.graphs[0];
    run.session.processes[0].record.sites.emplace_back();
    graph.nodes.emplace_back().site = 3;
    graph.nodes.back().type = conditional ? wire::graph_node::kConditional : wire::graph_node::kMemset;
    CHECK(run.weighed().evidence.proves() == !conditional);
  }
  GraphRun run;
  for (const auto& [flag, proves] :
       {std::pair(wire::operation::kGraphAltered, true), std::pair(wire::operation::kGraphUntold, false)}) {
    run.launch.graph_flags = flag;
    CHECK(run.weighed().evidence.proves() == proves);
  }
  // A recorded change may have given the first node another kernel.
  session::ProcessRecord& record = run.session.processes[0].record;
  session::Graph changed = record.graphs[0];
  changed.changed_from = 1;
  changed.changes = {{0, 1}};
  record.graphs.push_back(changed);
  run.launch.graph_changed = 2;
  run.launch.graph_flags = 0;
  CHECK(run.weighed().evidence.proves());
  run.launch.graph_flags = wire::operation::kGraphAltered;
  CHECK_FALSE(run.weighed().evidence.proves());
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
  run.launch.graph_flags = wire::operation::kGraphAltered;
  CHECK(nodes_with(101).nodes == 2);
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

// ---- the dump of a rerun

// The first run left one launch at line 1, and MPS is the only doubt. Line 2 launches another kernel.
struct SharedRun : Run {
  SharedRun() {
    session.manifest.passes.resize(3);
    session.manifest.passes.back().dump = "1.gpucore";
    session.reruns.resize(2);
    session.processes[0].record.functions.emplace_back("_Z5otherv");
    session.processes[0].record.sites.emplace_back().function = 2;
    session.processes[0].record.operations[0].grid = {2, 1, 1};
    shown.grid = {2, 1, 1};
    add_lines();
  }
  bool proves(std::uint32_t code = 700, Fact doubt = Fact::context) {
    return weighed_by_rerun([&](analyse::Failure& failure) {
             failure.code = code;
             failure.evidence.add(Fact::one_running);
             failure.evidence.add(Fact::may_be_others);
             failure.evidence.add(doubt);
           })
        .evidence.proves();
  }
};

TEST_CASE("under MPS, a rerun's dump proves only a launch with its kernel, grid and error, at the kernel's only line") {
  using Spoil = void (*)(SharedRun&);
  constexpr Spoil kSpoils[] = {
      [](SharedRun&) {},
      [](SharedRun& run) {
        run.shown.grid = {7, 1, 1};
      },
      [](SharedRun& run) { run.shown.kernel = "_Z5otherv"; },
      [](SharedRun& run) { run.session.processes[0].record.sites[1].function = 1; },
      [](SharedRun& run) { run.session.processes[0].record.sites[0].python = 0; },
      [](SharedRun& run) { run.session.manifest.passes.back().rewritten = {"/tmp/cases/train.py"}; },
  };
  for (const Spoil& spoil : kSpoils) {
    SharedRun run;
    spoil(run);
    CHECK(run.proves() == (&spoil == &kSpoils[0]));
  }
  CHECK_FALSE(SharedRun().proves(710));
  for (const Fact doubt : {Fact::contradicted, Fact::place_lost}) CHECK_FALSE(SharedRun().proves(700, doubt));
}

TEST_CASE(
    "under MPS, the dump of the rerun that waited for a launch proves it, even if other lines launch its kernel") {
  for (const std::size_t rerun : {0, 1}) {
    SharedRun run;
    run.session.processes[0].record.sites[1].function = 1;
    run.session.reruns[rerun].push_back(run.session.processes[0]);
    const session::Process& again = run.session.reruns[rerun][0];
    const auto weighed = [&](Fact doubt) {
      return run.weighed_by_rerun([&](analyse::Failure& failure) {
        failure.evidence.add(Fact::ran_alone);
        failure.evidence.add(Fact::may_be_others);
        failure.evidence.add(doubt);
        failure.again = &again.record.operations[0];
        failure.again_process = &again;
      });
    };
    CHECK(weighed(Fact::context).evidence.proves() == (rerun == 1));
    CHECK_FALSE(weighed(Fact::may_be_another).evidence.proves());  // isolation denied it something
  }
}

TEST_CASE("a rerun's dump proves the kernel of a candidate beside lost ones, unless a rerun failed elsewhere") {
  const auto weighed = [](Fact doubt) {
    return SharedRun().weighed_by_rerun([&](analyse::Failure& failure) {
      failure.evidence.add(Fact::one_running);
      failure.evidence.add(Fact::may_be_another);
      failure.evidence.add(doubt);
      failure.records_lost = true;
    });
  };
  CHECK(weighed(Fact::context).evidence.proves());
  CHECK(weighed(Fact::context).call_not_known);
  CHECK_FALSE(weighed(Fact::contradicted).evidence.proves());
}

TEST_CASE("a rerun's dump names no node if another launch may have run its kernel") {
  using Spoil = void (*)(GraphRun&);
  constexpr Spoil kSpoils[] = {
      [](GraphRun&) {},
      [](GraphRun& run) { run.session.processes[0].record.sites.emplace_back().function = 1; },
      [](GraphRun& run) { run.session.processes[0].record.dropped_sites = 1; },
      [](GraphRun& run) { run.session.processes[0].record.graphs.emplace_back(); },
      [](GraphRun& run) {
        session::Graph& other = run.session.processes[0].record.graphs.emplace_back();
        other.whole = true;
        other.nodes.emplace_back().function = 1;
      },
  };
  for (const Spoil& spoil : kSpoils) {
    GraphRun run;
    spoil(run);
    const analyse::Failure failure = run.weighed_by_rerun([](analyse::Failure& before) {
      before.evidence.add(Fact::one_running);
      analyse::name_graph_nodes(before);
    });
    CHECK(failure.candidates.size() == (&spoil == &kSpoils[0] ? 1 : 2));
    CHECK((failure.kind == analyse::Kind::graph_node) == (&spoil == &kSpoils[0]));
  }
}

TEST_CASE("a dump belongs to the finding that names its kernel, before one of which this is a candidate") {
  Run run;
  symbolize::ToolResults results;
  results.failure = run.shown;
  Finding graph, launch;
  graph.launch.emplace();
  graph.candidates.resize(2);
  graph.candidates[1].launch.mangled = run.shown.kernel;
  launch.launch.emplace().mangled = run.shown.kernel;
  Diagnosis report;
  report.findings = {graph, launch};
  const analyse::Failure failure;
  add_device(report, run.session, {}, {&failure, &failure}, results);
  CHECK_FALSE(report.findings[0].device);
  CHECK(report.findings[1].device);
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
