#include "analyse/forward_launches.h"

#include <doctest/doctest.h>

using namespace cudadiag;
using namespace cudadiag::analyse;

namespace {

// A process with the main thread (index 0) and autograd's thread (index 1). PyTorch numbers them 1 and 2.
class Run {
 public:
  Run() {
    record.threads.resize(2);
    record.codes.push_back({"/work/train.py", "step", 1, 12, ""});
    record.codes.push_back({"/lib/python3/site-packages/torch/autograd/__init__.py", "backward", 1, 12, ""});
    record.python_stacks.push_back({{{1, 0}}, false});
    record.python_stacks.push_back({{{2, 0}, {1, 0}}, false});
    record.sites.push_back({1, 0, 0, wire::operation::Kind::kernel, 0, 1});
    record.sites.push_back({2, 0, 0, wire::operation::Kind::kernel, 0, 1});
    record.sites.push_back({0, 0, 0, wire::operation::Kind::kernel, 1, 1});
  }

  session::Operation& launch(std::uint16_t thread, std::uint32_t site, std::uint32_t number) {
    session::Operation operation;
    operation.kind = wire::operation::Kind::kernel;
    operation.thread = thread;
    operation.site = site;
    operation.serial = ++record.threads[thread].published;
    operation.ticks = ++ticks_;
    operation.origin.number = number;
    operation.origin.thread = static_cast<std::uint16_t>(thread + 1);
    record.operations.push_back(operation);
    return record.operations.back();
  }
  session::Operation& forward(std::uint32_t number) { return launch(0, kLine, number); }
  session::Operation& before_the_engine(std::uint32_t number) { return launch(0, kInBackward, number); }
  session::Operation& backward(std::uint32_t node, std::uint16_t task) {
    session::Operation& operation = launch(1, kEngine, 0);
    operation.origin.node = node;
    operation.origin.node_thread = 1;
    operation.origin.graph_task = task;
    return operation;
  }

  std::vector<std::uint64_t> claims(const session::Operation& of) const {
    std::vector<std::uint64_t> serials;
    for (const auto* claim : forward_launches(record, of).claims) serials.push_back(claim->serial);
    return serials;
  }

  static constexpr std::uint32_t kLine = 1, kInBackward = 2, kEngine = 3;
  session::ProcessRecord record;

 private:
  std::uint64_t ticks_ = 0;
};

}  // namespace

TEST_CASE("the launches of a node's operator carry the node's number + 1") {
  Run run;
  run.forward(5);
  run.forward(6);
  run.forward(6);
  run.forward(7);
  run.backward(5, 1);
  CHECK(run.claims(run.record.operations.back()) == std::vector<std::uint64_t>{2, 3});
  CHECK(forward_launches(run.record, run.record.operations.back()).whole);
}

TEST_CASE("another thread's nodes have separate numbers") {
  Run run;
  run.forward(5);
  run.forward(6);
  session::Operation& failed = run.backward(5, 1);
  failed.origin.node_thread = 7;
  CHECK(run.claims(failed).empty());
  CHECK_FALSE(forward_launches(run.record, failed).whole);
}

TEST_CASE("if earlier records are missing, the first launch of a node may be lost") {
  Run run;
  run.record.threads[0].published = 5000;
  run.forward(6);
  CHECK_FALSE(forward_launches(run.record, run.backward(5, 1)).whole);
}

TEST_CASE("numbers wrap around") {
  Run run;
  run.forward(0xffffffffu);
  run.forward(0);
  CHECK(run.claims(run.backward(0xfffffffeu, 1)) == std::vector<std::uint64_t>{1});
}

TEST_CASE("gradient accumulation has no forward line, nor has a kernel outside the backward pass") {
  Run run;
  run.forward(5);
  CHECK_FALSE(has_forward(run.backward(wire::operation::kUnnumbered, 1)));
  CHECK(runs_node(run.record.operations.back()));
  CHECK_FALSE(runs_node(run.record.operations.front()));
  session::Operation& failed = run.backward(5, 1);
  failed.origin.node_thread = wire::operation::kManyThreads;
  CHECK_FALSE(has_forward(failed));
}

TEST_CASE("backward() was called where the waiting thread launched last") {
  Run run;
  run.forward(5);
  run.before_the_engine(5);
  run.backward(4, 9);
  run.backward(3, 9);
  const auto* found = launch_in_backward_call(run.record, run.record.operations.back());
  REQUIRE(found);
  CHECK(found->serial == 2);
}

TEST_CASE("a backward() call without a launch is not mistaken for the previous one") {
  Run run;
  run.before_the_engine(5);
  run.backward(4, 9);
  run.backward(3, 10);
  CHECK(launch_in_backward_call(run.record, run.record.operations.back()) == nullptr);
}

TEST_CASE("a thread that has since launched elsewhere is not waiting in backward()") {
  Run run;
  run.before_the_engine(5);
  run.forward(5);
  CHECK(launch_in_backward_call(run.record, run.backward(4, 9)) == nullptr);
}

TEST_CASE("without the call's number, one backward() call cannot be distinguished from the next") {
  Run run;
  run.before_the_engine(5);
  CHECK(launch_in_backward_call(run.record, run.backward(4, 0)) == nullptr);
}

TEST_CASE("a node's name is the name of its class") {
  Run run;
  run.record.node_types = {"N5torch8autograd9generated15GatherBackward0E", "N5torch8autograd6PyNodeE", "9MyBackward",
                           "N5torch8autograd7CppNodeI4MineEE", "N99999torchE"};
  session::Operation& failed = run.backward(5, 1);
  const auto name = [&](std::uint16_t type) {
    failed.origin.node_type = type;
    return node_name(run.record, failed);
  };
  CHECK(name(1) == "GatherBackward0");
  CHECK(name(2) == "PyNode");
  CHECK(name(3) == "9MyBackward");
  CHECK(name(4) == "N5torch8autograd7CppNodeI4MineEE");
  CHECK(name(5) == "N99999torchE");
  CHECK(name(0).empty());
  CHECK(name(6).empty());
}
