#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "analyse/graph_nodes.h"
#include "unit/analyse/picture_builder.h"

using namespace cudadiag;
using namespace cudadiag::analyse;

namespace {

// Two launches of a graph with two nodes, at ticks 10 and 20. The graph's second node points to memory that was freed
// at tick `freed`.
struct Replays {
  explicit Replays(std::uint64_t freed, std::uint32_t code = 0) : picture(code) {
    session::ProcessRecord& record = picture.process.record;
    record.frozen_code = code;
    record.seconds_per_tick = 1e-3;
    session::Graph graph;
    graph.whole = true;
    graph.nodes.resize(2);
    record.graphs.push_back(graph);
    const auto stream = picture.stream(1);
    for (int i = 0; i < 2; ++i) picture.issue(stream, op::Kind::graph, op::kMarked, 0xe0).graph = 1;
    session::Allocation memory;
    memory.serial = 7, memory.address = 0x1000, memory.bytes = 0x100;
    memory.made = 1, memory.freed = freed;
    record.allocations.push_back(memory);
    record.stale_pointers.push_back({2, 0, 1, 8, 0x1010, 7});
  }
  std::optional<Failure> found() const { return stale_replay(picture.process); }
  // Builds a failure whose candidates are the given nodes of the launch's graph or, if `nodes` is empty, the launch
  // itself.
  Failure failed(std::size_t launch, const std::vector<std::uint32_t>& nodes = {}) {
    Failure failure;
    failure.code = 700;
    failure.process = &picture.process;
    failure.evidence = {Fact::one_running, "markers"};
    failure.candidates.resize(std::max<std::size_t>(nodes.size(), 1));
    for (Candidate& candidate : failure.candidates) candidate.operation = &picture.process.record.operations[launch];
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      failure.candidates[i].node = &picture.process.record.graphs[0].nodes[nodes[i]];
      failure.candidates[i].node_index = nodes[i] + 1;
    }
    blame_stale_pointer(failure);
    return failure;
  }

  PictureBuilder picture;
};

}  // namespace

TEST_CASE("a graph that points to memory freed before its launch is suspected if nothing failed") {
  Replays replays(15);
  const auto failure = replays.found();
  REQUIRE(failure);
  CHECK(failure->kind == Kind::graph_stale_pointer);
  CHECK(failure->evidence.grade() == Grade::suspected);
  CHECK(failure->code == 0);
  REQUIRE(failure->candidates.size() == 1);
  CHECK(failure->candidates[0].operation == &replays.picture.process.record.operations[1]);
  CHECK(failure->candidates[0].node_index == 2);
  CHECK(failure->evidence ==
        "node 2 of its graph points to memory that was freed 5.0 ms before this launch; no call has failed, and it is "
        "unknown whether the node uses that memory");
}

TEST_CASE("memory that has been allocated again is reported as such") {
  Replays replays(15);
  auto again = replays.picture.process.record.allocations[0];
  again.serial = 8, again.made = 18, again.freed = 0;
  replays.picture.process.record.allocations.push_back(again);
  CHECK(replays.found()->evidence.text().find("this launch, and has been allocated again since;") != std::string::npos);
}

TEST_CASE("inconsistent records are not a finding") {
  CHECK(!Replays(25).found());  // freed after the second launch
  CHECK(!Replays(0).found());
  CHECK(!Replays(15, 700).found());  // the launch failed
  for (auto damage : {+[](session::ProcessRecord& r) { r.stale_pointers[0].serial = 3; },
                      +[](session::ProcessRecord& r) { r.stale_pointers[0].thread = 1; },
                      +[](session::ProcessRecord& r) { r.stale_pointers[0].allocation = 9; },
                      +[](session::ProcessRecord& r) { r.stale_pointers[0].address = 0x1100; },
                      +[](session::ProcessRecord& r) { r.operations[1].kind = op::Kind::kernel; },
                      +[](session::ProcessRecord& r) { r.operations[1].result = 1; }}) {
    Replays replays(15);
    damage(replays.picture.process.record);
    CHECK(!replays.found());
  }
  Replays strange(15);
  strange.picture.process.record.stale_pointers[0].node = 99;
  CHECK(strange.found()->candidates[0].node == nullptr);
}

TEST_CASE("a failed launch is blamed on the node with the stale pointer, and only as inferred") {
  Replays replays(15, 700);
  const Failure failure = replays.failed(1);
  CHECK(failure.kind == Kind::graph_stale_pointer);
  CHECK(failure.evidence.grade() == Grade::inferred);
  CHECK(failure.candidates[0].node_index == 2);
  CHECK(failure.stale != nullptr);
  CHECK(failure.evidence == "markers; node 2 of its graph points to memory that was freed 5.0 ms before this launch");
  CHECK(failure.candidates.size() == 1);
  const Failure one_of_two = replays.failed(1, {0, 1});
  REQUIRE(one_of_two.candidates.size() == 2);
  CHECK(one_of_two.candidates[0].node_index == 2);
  CHECK(one_of_two.candidates[1].node_index == 1);
}

TEST_CASE("a launch of another graph, or an earlier launch, is left unchanged") {
  Replays replays(15, 700);
  CHECK(replays.failed(0).kind == Kind::async_error);
  replays.picture.process.record.operations[1].argument = 0xe1;
  replays.picture.issue(0, op::Kind::graph, 0, 0xe0).graph = 1;
  CHECK(replays.failed(2).kind == Kind::async_error);
}

TEST_CASE("memory that is completely live again does not make a launch fail") {
  Replays replays(15, 700);
  session::ProcessRecord& record = replays.picture.process.record;
  auto again = record.allocations[0];
  again.serial = 8, again.made = 18, again.freed = 0;
  record.allocations.push_back(again);
  CHECK(replays.failed(1).kind == Kind::async_error);
  SUBCASE("a part of it is not") { record.allocations[1].bytes = 0x80; }
  SUBCASE("it was freed again") { record.allocations[1].freed = 19; }
  CHECK(replays.failed(1).kind == Kind::graph_stale_pointer);
}

TEST_CASE("a pointer with which an earlier launch finished is reported, but not blamed") {
  Replays replays(15, 700);
  replays.picture.issue(0, op::Kind::graph, op::kMarked, 0xe0).graph = 1;
  const Failure failure = replays.failed(2);
  CHECK(failure.kind == Kind::async_error);
  CHECK(failure.evidence ==
        "markers; node 2 of its graph points to memory that was freed 15.0 ms before this launch; an earlier launch "
        "with the same pointer finished");
}

TEST_CASE("a node's pointers are unknown once it has received different parameters") {
  Replays replays(15, 700);
  replays.picture.issue(0, op::Kind::graph, op::kMarked, 0xe0).graph = 1;
  replays.picture.process.record.operations[2].graph_flags = op::kGraphRepointed;
  CHECK(replays.failed(2).evidence.text() == "markers");
}

TEST_CASE("if there are several candidates, the leading launch is blamed on its node, and the others stay") {
  Replays replays(15, 700);
  replays.picture.issue(0);
  session::ProcessRecord& record = replays.picture.process.record;
  Failure failure;
  failure.code = 700;
  failure.process = &replays.picture.process;
  failure.evidence = {Fact::several_running, "markers"};
  failure.candidates = {{&record.operations[1], "first", 4}, {&record.operations[2], "second", 5}};
  SUBCASE("also if all nodes are of one line") {
    failure.candidates[0].node = &record.graphs[0].nodes[0];
    failure.kind = Kind::graph_node;
  }
  SUBCASE("and better evidence restores the launch") {
    blame_stale_pointer(failure);
    forget_stale_pointer(failure);
    CHECK((failure.kind == Kind::async_error && failure.stale == nullptr));
    CHECK((failure.candidates[0].node == nullptr && failure.candidates[0].process_ordinal == 4));
  }
  blame_stale_pointer(failure);
  CHECK(failure.kind == Kind::graph_stale_pointer);
  CHECK(failure.evidence.grade() == Grade::inferred);
  REQUIRE(failure.candidates.size() == 2);
  CHECK((failure.candidates[0].node_index == 2 && failure.candidates[0].process_ordinal == 4));
  CHECK((failure.candidates[1].operation == &record.operations[2] && failure.candidates[1].because == "second"));
}

TEST_CASE("a launch that does not lead is left unchanged, and so is a line that a rerun named") {
  Replays replays(15, 700);
  session::ProcessRecord& record = replays.picture.process.record;
  Failure failure;
  failure.code = 700;
  failure.process = &replays.picture.process;
  failure.candidates = {{&record.operations[0], "first", 1}, {&record.operations[1], "second", 2}};
  blame_stale_pointer(failure);
  CHECK(failure.kind == Kind::async_error);
  std::swap(failure.candidates[0], failure.candidates[1]);
  failure.again = &record.operations[0];
  blame_stale_pointer(failure);
  CHECK(failure.kind == Kind::async_error);
}

TEST_CASE("of several pointers, a parameter comes before a word of a structure, and then the first node counts") {
  Replays replays(15, 700);
  session::ProcessRecord& record = replays.picture.process.record;
  record.operations[1].replay = 2;
  record.stale_pointers[0].in_structure = true;
  record.stale_pointers.push_back({2, 0, 0, 8, 0x1010, 7, true});
  CHECK(replays.failed(1).candidates[0].node_index == 1);
  record.stale_pointers[0].in_structure = false;
  CHECK(replays.failed(1).candidates[0].node_index == 2);
}

TEST_CASE("a word of a structure is not a finding if nothing failed") {
  Replays replays(15);
  replays.picture.process.record.operations[1].replay = 2;
  replays.picture.process.record.stale_pointers[0].in_structure = true;
  CHECK(!replays.found());
}
