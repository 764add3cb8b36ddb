#include <doctest/doctest.h>

#include "unit/causes/failed_case.h"

using namespace cudadiag::causes;

namespace {

Failed standing_at(Work operation, const std::string& kernel = "") {
  Failed failed;
  failed.finding.kind = analyse::Kind::hang;
  failed.finding.hang.emplace();
  failed.stuck_in = operation;
  failed.finding.launch->kernel = kernel;
  return failed;
}

Failed waiting_for(WaitsFor what, const std::string& wait) {
  Failed failed = standing_at(Work::call);
  failed.finding.hang->waits_for = what;
  failed.finding.hang->wait = wait;
  return failed;
}

}  // namespace

TEST_CASE("the cause is what the stream waits for") {
  Failed value = waiting_for(WaitsFor::value, "until the word at 0x10 equals 1");
  CHECK(id_of(value) == "value-never-written");
  CHECK(text_of(value) == "the stream waits until the word at 0x10 equals 1");
  value.finding.hang->write_queued = true;
  CHECK(id_of(value) == "value-written-too-late");
  CHECK(id_of(waiting_for(WaitsFor::semaphore, "for the external semaphore 0x10")) == "semaphore-not-signalled");
  CHECK(id_of(waiting_for(WaitsFor::stream, "for stream 0x10")) == "waits-for-other-stream");
  CHECK(id_of(standing_at(Work::call)) == "none");
}

TEST_CASE("kernels that wait for other ranks are recognised by name") {
  CHECK(id_of(standing_at(Work::kernel, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)")) ==
        "collective-waits-for-rank");
  CHECK(id_of(standing_at(Work::kernel, "vllm::cross_device_reduce_1stage<float, 2>")) == "kernel-waits-for-peer");
  CHECK(id_of(standing_at(Work::kernel, "spin(int*)")) == "kernel-does-not-end");
  CHECK(id_of(standing_at(Work::kernel)) == "none");  // the kernel is not known
}

TEST_CASE("work that was interrupted may only be slow, but what a stream waits for is a fact") {
  Failed failed = standing_at(Work::kernel, "spin(int*)");
  failed.finding.hang->interrupted = true;
  CHECK(id_of(failed) == "interrupted-at-work");
  failed = waiting_for(WaitsFor::value, "until the word at 0x10 equals 1");
  failed.finding.hang->interrupted = true;
  CHECK(id_of(failed) == "value-never-written");
}

TEST_CASE("facts about the job's ranks count for more than the kernel's name") {
  Failed failed =
      standing_at(Work::kernel, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
  failed.job.emplace().ranks = 8;
  failed.job->calls = "ranks 0-6: train.py:9, average";
  failed.job->missing = "rank 7";
  failed.job->difference = RanksDifference::absence;
  CHECK(id_of(failed) == "rank-has-not-come");
  CHECK(text_of(failed).starts_with(
      "rank 7 called fewer collectives than the other ranks, often because a branch or an exception skipped one"));
  failed.job->missing.clear();
  failed.job->difference = RanksDifference::line;
  CHECK(id_of(failed) == "ranks-call-different-collectives");
  for (const RanksDifference part : {RanksDifference::kernel, RanksDifference::blocks}) {
    failed.job->difference = part;
    CHECK(id_of(failed) == "ranks-give-different-data");
  }
  failed.job->difference = RanksDifference::circle;
  failed.job->calls = "rank 1: send 4 to rank 3 in group pp1";
  CHECK(id_of(failed) == "ranks-wait-in-a-circle");
  CHECK(text_of(failed) == "each rank waits for the next one (rank 1: send 4 to rank 3 in group pp1)");
  failed.job->difference = RanksDifference::none;
  CHECK(id_of(failed) == "all-ranks-in-collective");
  CHECK(text_of(failed).starts_with("all 8 ranks of this run have called the collective"));
}

TEST_CASE("steps already tried are not recommended again") {
  for (const Work operation : {Work::kernel, Work::graph}) {
    Failed failed = standing_at(operation, "spin(int*)");
    const auto first_step = [&] { return explain(failed)->fix.front(); };
    CHECK(first_step().ends_with("cudadiag bisect shows it"));
    failed.asked_for_dump = true;
    CHECK(first_step().find("cudadiag bisect") == std::string::npos);
    CHECK(first_step().find("cuda-gdb -p PID") != std::string::npos);
    failed.finding.device->line = 7;
    CHECK(first_step().ends_with("the GPU core dump shows it"));
  }
}

TEST_CASE("host functions and graphs that never finish") {
  CHECK(id_of(standing_at(Work::host_function)) == "host-function-does-not-return");
  CHECK(id_of(standing_at(Work::graph)) == "graph-does-not-end");
}

TEST_CASE("failures and hangs never get each other's causes") {
  CHECK(id_of(gpu_error(719, "ncclDevKernel_AllReduce")) != "collective-waits-for-rank");
  Failed hanging = gpu_error(715);
  hanging.finding.kind = analyse::Kind::hang;
  hanging.finding.launch->kernel.clear();
  CHECK(id_of(hanging) == "none");
}
