// Rules for GPU work that never finishes.

#include <algorithm>
#include <initializer_list>
#include <string>

#include "diagnose/causes/rule.h"
#include "wire/name_patterns.h"

namespace cudadiag::causes {
namespace {

bool waits_for(const Case& failed, Facts& facts, WaitsFor what) {
  facts.add("wait", failed.hang().wait);
  // If there are several candidates, the wait of one of them does not explain the hang.
  return failed.finding.candidates.empty() && failed.hang().waits_for == what;
}

bool for_unwritten_value(const Case& failed, Facts& facts) {
  return !failed.hang().write_queued && waits_for(failed, facts, WaitsFor::value);
}

bool for_late_value(const Case& failed, Facts& facts) {
  return failed.hang().write_queued && waits_for(failed, facts, WaitsFor::value);
}

bool for_semaphore(const Case& failed, Facts& facts) { return waits_for(failed, facts, WaitsFor::semaphore); }

bool for_stream(const Case& failed, Facts& facts) { return waits_for(failed, facts, WaitsFor::stream); }

bool waiting_collective(const Case& failed, Facts& facts) {
  facts.add("kernel", failed.kernel());
  return wire::is_of_nccl(failed.kernel());
}

// Returns whether the ranks of the job differ in one of these ways.
bool differ(const Case& failed, Facts& facts, std::initializer_list<RanksDifference> ways) {
  if (!failed.job) return false;
  facts.add("ranks", failed.job->missing);
  facts.add("calls", failed.job->calls);
  facts.add("number", std::to_string(failed.job->ranks));
  return std::ranges::find(ways, failed.job->difference) != ways.end();
}

bool ranks_missing(const Case& failed, Facts& facts) { return differ(failed, facts, {RanksDifference::absence}); }
bool ranks_at_other_lines(const Case& failed, Facts& facts) { return differ(failed, facts, {RanksDifference::line}); }
bool ranks_with_other_data(const Case& failed, Facts& facts) {
  return differ(failed, facts, {RanksDifference::kernel, RanksDifference::blocks});
}
bool ranks_in_circle(const Case& failed, Facts& facts) { return differ(failed, facts, {RanksDifference::circle}); }
bool ranks_alike(const Case& failed, Facts& facts) { return differ(failed, facts, {RanksDifference::none}); }

bool peer_exchange(const Case& failed, Facts& facts) {
  facts.add("kernel", failed.kernel());
  return has_any(failed.kernel(), {"nvshmem", "cross_device_reduce", "multimem_all_reduce", "one_shot_all_reduce",
                                   "two_shot_all_reduce"});
}

bool host_function(const Case& failed, Facts&) { return failed.stuck_in == Work::host_function; }

// Adds a hint on how to find the lines at which the kernel's threads are. The hint depends on what has been tried.
void add_way_to_threads(const Case& failed, Facts& facts) {
  if (failed.device().line > 0) {
    facts.add("way", "the GPU core dump shows it");
  } else if (failed.asked_for_dump) {
    facts.add(
        "way",
        "since no GPU core dump shows it, run the program without cudadiag, and attach cuda-gdb -p PID when it hangs");
  } else if (failed.is_one_rank) {
    facts.add("way", "cudadiag run --once --hang-after SECONDS in front of each rank's command shows it");
  } else if (failed.hang().stall) {
    facts.add("way", "cudadiag run --hang-after SECONDS --on-hang=dump -- COMMAND shows it");
  } else {
    facts.add("way", "cudadiag bisect shows it");
  }
}

// An interruption proves no hang, so the rules after this one do not apply.
bool interrupted(const Case& failed, Facts&) { return failed.hang().interrupted; }

bool dump_begun(const Case& failed, Facts&) { return failed.dump_begun; }

bool kernel(const Case& failed, Facts& facts) {
  add_way_to_threads(failed, facts);
  return failed.stuck_in == Work::kernel && !failed.kernel().empty();
}

bool graph(const Case& failed, Facts& facts) {
  add_way_to_threads(failed, facts);
  return failed.stuck_in == Work::graph;
}

}  // namespace

const std::vector<Rule>& hang_rules() {
  static const std::vector<Rule> rules = {
      {.id = "core-dump-unfinished",
       .when = dump_begun,
       .texts =
           {"the GPU stopped at an exception, such as an illegal address or a failed assertion, and the driver had "
            "not finished its core dump"},
       .fix = {"run the command again with a longer --hang-after, or without --once"},
       .link = "https://docs.nvidia.com/cuda/cuda-gdb/index.html#gpu-core-dump-support"},
      {.id = "value-never-written",
       .when = for_unwritten_value,
       .texts = {"the stream waits {wait}"},
       .fix = {"write the value with cuStreamWriteValue on another stream, from a kernel, or from the host through "
               "mapped memory",
               "check that the address and the comparison (EQ, GEQ, AND, NOR) of the wait match the write"},
       .link = "https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEMOP.html"},
      {.id = "value-written-too-late",
       .when = for_late_value,
       .texts = {"the stream waits {wait}, and that stream has not reached the write"},
       .fix = {"queue the write ahead of the operation that blocks the write's stream: two streams that wait for each "
               "other never continue"},
       .link = "https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEMOP.html"},
      {.id = "semaphore-not-signalled",
       .when = for_semaphore,
       .texts = {"the stream waits {wait}, which nothing has signalled"},
       .fix = {"signal it from the other API or process, before this wait or in parallel with it"},
       .link = "https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXTRES__INTEROP.html"},
      {.id = "waits-for-other-stream",
       .when = for_stream,
       .texts = {"the stream waits {wait}"},
       .fix = {"find the operation that blocks that stream: it also blocks this one"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#stream-and-event-behavior"},
      {.id = "rank-has-not-come",
       .sure = Sure::often,
       .when = ranks_missing,
       .texts = {"{ranks} called fewer collectives than the other ranks, often because a branch or an exception "
                 "skipped one, or there was less data to process; the other ranks are waiting"},
       .fix = {"find out what {ranks} did instead of calling the collective",
               "all ranks must call the same collectives in the same order, including ranks that have no data left"},
       .link = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/usage/collectives.html"},
      {.id = "ranks-call-different-collectives",
       .sure = Sure::often,
       .when = ranks_at_other_lines,
       .texts = {"the ranks call different collectives ({calls}), often because they take different branches, or have "
                 "different amounts of data"},
       .fix = {"find out why the ranks take different branches before these lines",
               "all ranks must call the same collectives in the same order, including ranks that have no data left"},
       .link = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/usage/collectives.html"},
      {.id = "ranks-give-different-data",
       .sure = Sure::often,
       .when = ranks_with_other_data,
       .texts =
           {"the ranks call the same collective differently ({calls}), often because their tensors differ in size or "
            "type"},
       .fix = {"compare the shapes and types of the tensors that each rank passes to it"},
       .link = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/usage/collectives.html"},
      {.id = "ranks-wait-in-a-circle",
       .when = ranks_in_circle,
       .texts = {"each rank waits for the next one ({calls})"},
       .fix = {"make all ranks call the collectives of their groups in the same order, and make one end of each pair "
               "receive first",
               "put sends and receives that belong together between ncclGroupStart and ncclGroupEnd "
               "(torch.distributed.batch_isend_irecv)"},
       .link = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/usage/p2p.html"},
      {.id = "interrupted-at-work",
       .when = interrupted,
       .texts = {"the work had not finished when the program was interrupted; it may only be slow, or never finish"},
       .fix = {"if it should take less time, find out what it does then: cudadiag run --hang-after SECONDS "
               "--on-hang=dump -- COMMAND"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#asynchronous-concurrent-execution"},
      {.id = "all-ranks-in-collective",
       .sure = Sure::often,
       .when = ranks_alike,
       .texts = {"all {number} ranks of this run have called the collective in the same way, but it never finishes, "
                 "often because of a fault in the link or network between their GPUs, or because it also waits for a "
                 "rank outside this run"},
       .fix = {"NCCL_DEBUG=INFO shows which links NCCL uses; NCCL_P2P_DISABLE=1 and NCCL_IB_DISABLE=1 show whether one "
               "of them is at fault"},
       .link = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html"},
      {.id = "collective-waits-for-rank",
       .sure = Sure::often,
       .when = waiting_collective,
       .texts = {"an NCCL collective never finishes, often because a rank has not reached it, has called a different "
                 "collective, or has called the same one with different sizes"},
       .fix = {"to learn the rank, the call and the group: cudadiag run --nccl --hang-after SECONDS -- COMMAND",
               "or find the rank that has not launched this kernel: cudadiag ranks compares the sessions of all ranks",
               "all ranks must call the same collectives in the same order, including ranks that have no data left"},
       .link = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/usage/collectives.html"},
      {.id = "kernel-waits-for-peer",
       .sure = Sure::often,
       .when = peer_exchange,
       .texts = {"{kernel} waits for the same kernel on other GPUs, often because a rank has not launched it"},
       .fix = {"run cudadiag status for every rank, and find the one that has not launched this kernel"},
       .link = "https://docs.nvidia.com/nvshmem/api/gen/api/sync.html"},
      {.id = "host-function-does-not-return",
       .sure = Sure::often,
       .when = host_function,
       .texts = {"a host function on the stream has not returned, often because it calls CUDA, or needs a lock (such "
                 "as the GIL) held by a thread that waits for this stream"},
       .fix = {"host functions must not call CUDA or wait for a thread that does"},
       .link = "https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC.html"},
      {.id = "kernel-does-not-end",
       .sure = Sure::often,
       .when = kernel,
       .texts = {"the kernel never finishes, often because a loop never exits, blocks wait for a lock or flag while "
                 "the block that holds it cannot run, or some threads never reach a barrier"},
       .fix = {"find the line that the kernel's threads are executing: {way}",
               "blocks that wait for each other need a cooperative launch, and a grid that fits on the GPU at once"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#cooperative-groups"},
      {.id = "graph-does-not-end",
       .sure = Sure::often,
       .when = graph,
       .texts = {"the launched graph never finishes, often because one of its kernels is waiting for something "
                 "outside the graph"},
       .fix = {"find out which kernel of the graph is running, and at which line: {way}"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#cuda-graphs"},
  };
  return rules;
}

}  // namespace cudadiag::causes
