#include "diagnose/next_steps.h"

#include <algorithm>

#include "wire/cuda_codes.h"

namespace cudadiag::diagnose {
namespace {

std::string device_exception(std::uint32_t code) {
  switch (code) {
    case 700:
    case 717:
      return "check this operation's pointers, indices and sizes, and that its memory has not been freed";
    case 710:
      return "read the assertion that the program printed, and check the values that it tests";
    case 716:
      return "check that this line's pointers are aligned for the types that the kernel reads and writes";
    default:
      return "check the arguments of the operation at this line";
  }
}

bool is_launch(const analyse::Failure& failure) {
  return failure.reported != nullptr && (failure.reported->flags & wire::error::kLaunch) != 0;
}

std::string refused_call(const analyse::Failure& failure) {
  if (failure.code == wire::cuda::kInvalidConfiguration)
    return "compare the grid, block and shared memory with the limits of this GPU";
  return is_launch(failure) ? "check the grid, block, shared memory and stream of this launch"
                            : "check the arguments of this call";
}

}  // namespace

std::string check_what_it_returns(const analyse::Failure& failure) {
  return std::string("check what this call returns") +
         (is_launch(failure) ? "{cuda: (after <<<>>>: cudaGetLastError())}" : "");
}

bool asked_for_dump(const session::Manifest& manifest) {
  return std::any_of(manifest.passes.begin(), manifest.passes.end(), [](const session::Pass& pass) {
    return pass.kind == session::PassKind::device && pass.cut_short != session::CutShort::interrupted;
  });
}

std::vector<std::string> next_steps(const analyse::Failure& failure, const session::Manifest& manifest) {
  switch (failure.kind) {
    case analyse::Kind::async_error:
      if (failure.damaged)
        return {"record the program again with cudadiag run, or let a rerun find the operation: cudadiag bisect"};
      if (failure.records_lost && !failure.process->record.log)
        return {"run the program again with --full-log, which keeps the record of every operation"};
      if (failure.candidates.empty()) return {};
      [[fallthrough]];
    case analyse::Kind::graph_node:
      return {device_exception(failure.code)};
    case analyse::Kind::stream_race:
    case analyse::Kind::non_finite:
    case analyse::Kind::out_of_bounds:
      return {};
    case analyse::Kind::graph_stale_pointer:
      return {
          "do not free or move the memory that a graph was captured with while the graph is in use, or update the "
          "graph when its memory changes"};
    case analyse::Kind::out_of_memory:
      return {
          "allocate less at once, free what you no longer use, and check with nvidia-smi which other processes hold "
          "memory"};
    case analyse::Kind::capture_violation:
    case analyse::Kind::sync_error:
      return {refused_call(failure)};
    case analyse::Kind::hang:
      if (asked_for_dump(manifest) || failure.hang->stall != nullptr) return {"find out what this operation waits for"};
      return {
          "find out what this operation waits for; for a kernel, --on-hang=dump or cudadiag bisect shows what its "
          "threads are executing"};
    case analyse::Kind::unchecked_error:
      return {refused_call(failure), check_what_it_returns(failure)};
  }
  return {};
}

}  // namespace cudadiag::diagnose
