#include <doctest/doctest.h>

#include <vector>

#include "analyse/rank_divergence.h"
#include "unit/analyse/picture_builder.h"

using namespace cudadiag;
using namespace cudadiag::analyse;

namespace {

constexpr const char* kAllReduce = "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE";

// A process with one communicator and one stream, whose handle is 0x5000.
class Rank : public PictureBuilder {
 public:
  Rank() {
    session::Communicator world;
    world.hash = 1, world.name = "world", world.ranks = 2;
    process.record.communicators.push_back(world);
    stream_ = stream(0);
    process.record.streams[stream_].handle = 0x5000;
    kernel_ = site(kAllReduce);
    other_ = site("gemm");
  }

  // Records the call before its launch, as NCCL's plugin interface does from version 5 on.
  void call_before_launch(bool launches = true) {
    add_call(wire::collective::kBeforeLaunch, 0x5000);
    if (launches) launch(kernel_);
  }
  void call_after_launch() {
    launch(kernel_);
    add_call(0, 0);
  }
  void work() { launch(other_); }
  // Marks all operations up to `ordinal` as finished.
  void finish(std::uint32_t ordinal) {
    session::Stream& stream = process.record.streams[stream_];
    stream.marker = ordinal, stream.marker_issued = stream.issued;
  }

 private:
  void launch(std::uint32_t site) { now_ = issue_at(site, stream_).ticks; }
  void add_call(std::uint8_t flags, std::uint64_t stream) {
    auto& calls = process.record.collectives;
    session::Collective call;
    call.number = calls.size() + 1;
    call.ordinal = static_cast<std::uint32_t>(call.number);
    // The time of the call is between the previous and the next operation.
    call.ticks = now_ + (now_ == 0 ? 0 : 1);
    call.stream = stream;
    call.flags = flags;
    calls.push_back(call);
  }

  std::uint32_t stream_ = 0, kernel_ = 0, other_ = 0;
  std::uint64_t now_ = 0;
};

using Streams = std::vector<std::vector<std::size_t>>;

}  // namespace

TEST_CASE("a process without communicators has no state") {
  session::Process process;
  CHECK_FALSE(rank_state(process, kAllCalls));
}

TEST_CASE("a call belongs to the next kernel on its stream, or to the last kernel of its thread") {
  for (const bool before : {true, false}) {
    Rank rank;
    for (int i = 0; i < 3; ++i) {
      before ? rank.call_before_launch() : rank.call_after_launch();
      rank.work();
    }
    // The second all-reduce is the third operation on the stream, so it is unfinished.
    rank.finish(2);
    const auto state = rank_state(rank.process, kAllCalls);
    REQUIRE(state);
    REQUIRE(state->unfinished.size() == 1);
    CHECK(state->unfinished.front().front() == 1);
  }
}

TEST_CASE("a call that was never launched is still waiting on the host") {
  Rank rank;
  rank.call_before_launch();
  rank.finish(1);
  rank.call_before_launch(false);
  const auto state = rank_state(rank.process, kAllCalls);
  REQUIRE(state);
  CHECK(state->unfinished == Streams{{1}});
}

TEST_CASE("only the latest calls are kept if requested") {
  Rank rank;
  for (int i = 0; i < 5; ++i) rank.call_before_launch();
  rank.finish(5);
  const auto state = rank_state(rank.process, 2);
  REQUIRE(state);
  REQUIRE(state->calls.size() == 2);
  CHECK(state->calls.front().number == 4);
  CHECK(state->unfinished.empty());
}
