#include "analyse/graph_nodes.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <initializer_list>

#include "analyse/first_failure.h"
#include "analyse/reruns.h"
#include "unit/analyse/picture_builder.h"
#include "wire/site_key.h"

using namespace cudadiag;
using namespace cudadiag::analyse;

namespace {

struct Node {
  std::uint8_t type;
  const char* kernel;
  std::uint32_t line;  // nodes on the same line share a call site
};

// A frozen process that launched a graph three times. Only the third launch may have been running.
struct Replayed {
  Replayed(std::uint32_t code, std::initializer_list<Node> nodes) : picture(code) {
    auto& record = picture.process.record;
    record.sites.resize(10);
    session::Graph graph;
    graph.whole = true;
    for (const Node& node : nodes) {
      record.functions.push_back(node.kernel);
      session::GraphNode& made = graph.nodes.emplace_back();
      made.type = node.type;
      made.site = node.line;
      made.function = static_cast<std::uint32_t>(record.functions.size());
    }
    record.graphs.push_back(graph);
    const auto stream = picture.stream(2);
    for (std::uint32_t replay = 1; replay <= 3; ++replay) {
      auto& launch = picture.issue(stream, analyse::op::Kind::graph);
      launch.graph = 1;
      launch.replay = replay;
    }
  }
  // Records a call at `line` that changed the parameters of node `index`.
  void change(std::uint32_t index, std::uint32_t line) {
    auto& record = picture.process.record;
    if (record.graphs.size() == 1) record.graphs.emplace_back().changed_from = 1;
    record.graphs[1].changes.push_back({index, line});
    record.operations[2].graph_changed = 2;
  }
  analyse::Failure failure() {
    auto failure = *analyse::first_failure(picture.process);
    analyse::name_graph_nodes(failure);
    return failure;
  }
  PictureBuilder picture;
};

std::vector<std::uint32_t> indices(const analyse::Failure& failure) {
  std::vector<std::uint32_t> found;
  for (const auto& candidate : failure.candidates) found.push_back(candidate.node_index);
  return found;
}

}  // namespace

TEST_CASE("the only node that may have failed is as certain as its graph's launch") {
  Replayed replayed(710, {{kCopy, "", 1}, {kKernel, "check", 2}, {kEmpty, "", 3}});
  const auto failure = replayed.failure();
  CHECK(failure.kind == analyse::Kind::graph_node);
  CHECK(failure.evidence.grade() == Grade::bracketed);
  REQUIRE(indices(failure) == std::vector<std::uint32_t>{2});
  CHECK(failure.candidates[0].nodes_of_graph == 3);
  CHECK(failure.candidates[0].operation->replay == 3);
}

TEST_CASE("a copy may have accessed a bad address too") {
  Replayed replayed(700, {{kCopy, "", 1}, {kKernel, "scale", 2}, {kEmpty, "", 3}});
  const auto failure = replayed.failure();
  CHECK(failure.kind == analyse::Kind::async_error);
  CHECK(failure.evidence.grade() == Grade::bracketed);
  CHECK(indices(failure) == std::vector<std::uint32_t>{1, 2});
}

TEST_CASE("kernels lead among the nodes of a graph that hangs") {
  Replayed replayed(700, {{kCopy, "", 1}, {kKernel, "wait_for", 2}});
  auto failure = *analyse::first_failure(replayed.picture.process);
  failure.kind = analyse::Kind::hang;
  failure.code = 0;
  analyse::name_graph_nodes(failure);
  CHECK(indices(failure) == std::vector<std::uint32_t>{2, 1});
}

TEST_CASE("a conditional node stands for its body only if the body is unknown") {
  Replayed unknown(700, {{kKernel, "classify", 1}, {kConditional, "", 2}});
  CHECK(unknown.failure().kind == analyse::Kind::async_error);
  CHECK(indices(unknown.failure()) == std::vector<std::uint32_t>{1, 2});

  Replayed known(700, {{kCopy, "", 1}, {kConditional, "", 2}, {kKernel, "denoise", 3}});
  known.picture.process.record.graphs[0].nodes[2].parent = 2;
  CHECK(indices(known.failure()) == std::vector<std::uint32_t>{1, 3});
}

TEST_CASE("nodes of one line are one candidate, and the line is known") {
  Replayed replayed(700, {{kKernel, "scale", 4}, {kKernel, "scale", 4}, {kKernel, "scale", 4}});
  const auto failure = replayed.failure();
  CHECK(failure.kind == analyse::Kind::graph_node);
  CHECK(failure.evidence.grade() == Grade::inferred);
  REQUIRE(indices(failure) == std::vector<std::uint32_t>{1});
  CHECK(failure.candidates[0].nodes == 3);
}

TEST_CASE("after an assertion, the kernel that checks its data leads, but is only inferred") {
  Replayed replayed(710, {{kKernel, "fill", 1}, {kKernel, "indexSelectSmallIndex", 2}, {kKernel, "mul", 3}});
  const auto failure = replayed.failure();
  CHECK(failure.kind == analyse::Kind::graph_node);
  CHECK(failure.evidence.grade() == Grade::inferred);
  CHECK(indices(failure) == std::vector<std::uint32_t>{2, 1, 3});
}

TEST_CASE("of several kernels that check their data, none leads") {
  Replayed replayed(710, {{kKernel, "gather", 1}, {kKernel, "index", 2}, {kKernel, "mul", 3}});
  CHECK(replayed.failure().kind == analyse::Kind::async_error);
}

TEST_CASE("a graph with missing parts remains the candidate") {
  Replayed replayed(700, {{kKernel, "scale", 1}});
  replayed.picture.process.record.graphs[0].whole = false;
  const auto failure = replayed.failure();
  CHECK(failure.kind == analyse::Kind::async_error);
  CHECK(indices(failure) == std::vector<std::uint32_t>{0});
}

TEST_CASE("among several operations, a graph with one node is that node") {
  Replayed replayed(700, {{kKernel, "scale", 7}});
  const auto other = replayed.picture.stream(0);
  replayed.picture.issue(other);
  const auto failure = replayed.failure();
  CHECK(failure.evidence.grade() == Grade::inferred);
  CHECK(indices(failure) == std::vector<std::uint32_t>{1, 0});
  CHECK(failure.kind == analyse::Kind::graph_node);
}

TEST_CASE("of several launches at one line, the node is named that a rerun watched in a similar launch") {
  Replayed first(700, {{kKernel, "scale", 1}, {kKernel, "gather", 2}});
  auto launches = *analyse::first_failure(first.picture.process);
  launches.candidates.push_back(launches.candidates.front());
  launches.candidates.front().operation = &first.picture.process.record.operations[1];
  for (const char* kernel : {"gather", "other"}) {
    Replayed rerun(700, {{kKernel, "scale", 1}, {kKernel, kernel, 2}});
    session::Operation& again = rerun.picture.process.record.operations[2];
    again.flags |= analyse::op::kAlone;
    again.graph_words = 1;
    rerun.picture.process.record.graph_words = {1, 0};
    rerun.picture.process.record.graphs[0].edges = {{0, 1}};
    auto failure = launches;
    failure.again = &again;
    failure.again_process = &rerun.picture.process;
    analyse::name_graph_nodes(failure);
    const bool alike = std::string(kernel) == "gather";
    CHECK(indices(failure) == (alike ? std::vector<std::uint32_t>{2, 2} : std::vector<std::uint32_t>{0, 0}));
    CHECK(failure.kind == (alike ? analyse::Kind::graph_node : analyse::Kind::async_error));
  }
}

TEST_CASE("if a rerun failed at another call of the line, nodes come from that launch or are unknown") {
  for (const bool alone : {true, false}) {
    for (const char* line : {"one", "other"}) {
      Replayed first(700, {{kKernel, "scale", 1}}), rerun(700, {{kKernel, "scale", 1}});
      auto& record = rerun.picture.process.record;
      for (auto* functions : {&first.picture.process.record.functions, &record.functions}) functions->push_back("one");
      record.functions.back() = line;
      first.picture.process.record.sites[0].function = record.sites[0].function = 2;
      auto failure = *analyse::first_failure(first.picture.process);
      if (!alone) failure.candidates.push_back(failure.candidates.front());
      failure.again = &record.operations[0];
      failure.again_process = &rerun.picture.process;
      failure.call_not_known = true;
      analyse::name_graph_nodes(failure);
      const bool same = std::string(line) == "one";
      CHECK(indices(failure) == std::vector<std::uint32_t>(alone ? 1 : 2, same ? 1 : 0));
      CHECK(failure.kind == (same ? analyse::Kind::graph_node : analyse::Kind::async_error));
    }
  }
}

TEST_CASE("a node with changed parameters belongs to the line that changed it") {
  Replayed replayed(710, {{kCopy, "", 1}, {kKernel, "check", 2}});
  replayed.change(1, 6);
  const auto failure = replayed.failure();
  CHECK(failure.kind == analyse::Kind::graph_node);
  CHECK(failure.evidence.grade() == Grade::bracketed);
  REQUIRE(indices(failure) == std::vector<std::uint32_t>{2});
  CHECK(failure.candidates[0].site() == 6);
  CHECK(failure.candidates[0].node->site == 2);
  CHECK_FALSE(failure.candidates[0].made_apart);
}

TEST_CASE("a launch before the change belongs to the line that created the node") {
  Replayed replayed(710, {{kKernel, "check", 2}});
  replayed.change(0, 6);
  replayed.picture.process.record.operations[2].graph_changed = 0;
  CHECK(replayed.failure().candidates[0].site() == 2);
}

TEST_CASE("nodes of several lines that one line changed belong to that line") {
  Replayed replayed(700, {{kKernel, "scale", 1}, {kKernel, "scale", 2}});
  replayed.change(0, 6), replayed.change(1, 6);
  auto& nodes = replayed.picture.process.record.graphs[0].nodes;
  nodes[1].function = nodes[0].function;
  SUBCASE("one kernel") {}
  SUBCASE("several kernels") { nodes[1].function = 2; }
  const auto failure = replayed.failure();
  CHECK(failure.kind == analyse::Kind::graph_node);
  CHECK(failure.evidence.grade() == Grade::inferred);
  REQUIRE(indices(failure) == std::vector<std::uint32_t>{1});
  CHECK(failure.candidates[0].nodes == 2);
  CHECK(failure.candidates[0].made_apart);
  CHECK(failure.candidates[0].alike == (nodes[1].function == nodes[0].function));
}

TEST_CASE("nodes of one line have a shape only if all share it") {
  for (const std::uint32_t blocks : {8u, 16u}) {
    Replayed replayed(700, {{kKernel, "scale", 1}, {kKernel, "scale", 1}});
    auto& nodes = replayed.picture.process.record.graphs[0].nodes;
    nodes[0].grid = {8, 1, 1}, nodes[1].grid = {blocks, 1, 1};
    const auto failure = replayed.failure();
    REQUIRE(failure.candidates.size() == 1);
    CHECK(failure.candidates[0].same_shape == (blocks == 8));
  }
}

TEST_CASE("nodes of one line are distinguished if one of them was changed") {
  Replayed replayed(700, {{kKernel, "scale", 1}, {kKernel, "scale", 1}});
  replayed.change(1, 6);
  const auto failure = replayed.failure();
  CHECK(failure.kind == analyse::Kind::async_error);
  REQUIRE(indices(failure) == std::vector<std::uint32_t>{1, 2});
  CHECK((failure.candidates[0].site() == 1 && failure.candidates[1].site() == 6));
}

TEST_CASE("if not every change was recorded, the line is at most the likeliest") {
  Replayed replayed(710, {{kKernel, "check", 2}});
  replayed.picture.process.record.operations[2].graph_flags = analyse::op::kGraphUntold;
  const auto failure = replayed.failure();
  CHECK(failure.evidence.grade() == Grade::inferred);
  CHECK(failure.evidence.text().ends_with(
      "; calls or kernels may have changed the parameters of some nodes, and not all of these changes were "
      "recorded"));
}

// ---- Saving a node in a rerun

TEST_CASE("the window of a launch names the one node that may have failed, and its graph by the number of nodes") {
  Replayed replayed(716, {{kCopy, "", 1}, {kKernel, "bad", 2}, {kEmpty, "", 3}});
  Analysis analysis;
  analysis.failures = {replayed.failure()};
  CHECK(launch_window(analysis).text == fmt::format("node=2/3/{:x}@1", wire::site_key::of_function("bad")));
  replayed.picture.process.record.operations.back().site_ordinal = 40;
  analysis.failures = {replayed.failure()};
  CHECK(launch_window(analysis).text.ends_with("@38"));
}

TEST_CASE("no node is saved if other nodes may have failed, unless only one can have raised the assertion") {
  Replayed two(700, {{kKernel, "one", 1}, {kKernel, "other", 2}});
  Analysis analysis;
  analysis.failures = {two.failure()};
  CHECK(launch_window(analysis).text.empty());
  Replayed asserting(710, {{kKernel, "scale", 1}, {kKernel, "vectorized_gather_kernel", 2}});
  analysis.failures = {asserting.failure()};
  REQUIRE(analysis.failures.front().kind == Kind::graph_node);
  CHECK(launch_window(analysis).text.starts_with("node=2/2/"));
  CHECK(launch_window(analysis).text.find(',') == std::string::npos);
}

TEST_CASE("no node is saved if several nodes of its line may have failed, or if it is not a kernel") {
  Replayed several(700, {{kKernel, "bad", 2}, {kKernel, "bad", 2}});
  Analysis analysis;
  analysis.failures = {several.failure()};
  CHECK(launch_window(analysis).text.empty());
  Replayed copy(700, {{kCopy, "", 1}});
  analysis.failures = {copy.failure()};
  CHECK(launch_window(analysis).text.empty());
}

// ---- nodes under way

namespace {

session::Graph graph(std::initializer_list<std::uint8_t> types, std::initializer_list<session::GraphEdge> edges) {
  session::Graph made;
  for (const std::uint8_t type : types) made.nodes.emplace_back().type = type;
  made.edges = edges;
  return made;
}

using Words = std::vector<std::uint32_t>;
using Nodes = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("in a chain, the first node that has not finished was running") {
  const auto chain = graph({kKernel, kKernel, kKernel}, {{0, 1}, {1, 2}});
  CHECK(nodes_under_way(chain, Words{0, 0, 0}) == Nodes{0});
  CHECK(nodes_under_way(chain, Words{1, 0, 0}) == Nodes{1});
  CHECK(nodes_under_way(chain, Words{1, 1, 1}).empty());
}

TEST_CASE("each of several parallel branches may have been running") {
  const auto fork = graph({kKernel, kKernel, kKernel, kKernel}, {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
  CHECK(nodes_under_way(fork, Words{1, 0, 0, 0}) == Nodes{1, 2});
  CHECK(nodes_under_way(fork, Words{1, 0, 1, 0}) == Nodes{1});
  CHECK(nodes_under_way(fork, Words{1, 1, 1, 0}) == Nodes{3});
}

TEST_CASE("a node without a marker may have finished as soon as it could begin") {
  const auto host = graph({kKernel, kHost, kKernel}, {{0, 1}, {1, 2}});
  CHECK(nodes_under_way(host, Words{0, 0, 0}) == Nodes{0});
  CHECK(nodes_under_way(host, Words{1, 0, 0}) == Nodes{2});
}

TEST_CASE("a child graph is between the nodes around it") {
  // Node 0 leads to child graph 1, whose node 3 leads to node 4. The child graph leads to node 2.
  auto nested = graph({kKernel, kChild, kKernel, kKernel, kKernel}, {{0, 1}, {1, 2}, {3, 4}});
  nested.nodes[3].parent = nested.nodes[4].parent = 2;
  CHECK(nodes_under_way(nested, Words{0, 0, 0, 0, 0}) == Nodes{0});
  CHECK(nodes_under_way(nested, Words{1, 0, 0, 0, 0}) == Nodes{3});
  CHECK(nodes_under_way(nested, Words{1, 0, 0, 1, 0}) == Nodes{4});
  CHECK(nodes_under_way(nested, Words{1, 0, 0, 1, 1}) == Nodes{2});
}

TEST_CASE("damaged graphs are handled too") {
  CHECK(nodes_under_way(graph({kKernel, kKernel}, {{0, 1}, {1, 0}}), Words{0, 0}).empty());
  CHECK(nodes_under_way(graph({kKernel}, {}), Words{}).empty());
}
