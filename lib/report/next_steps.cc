#include "report/next_steps.h"

namespace cudadiag::report {
namespace {

std::string device_exception(std::uint32_t code) {
  switch (code) {
    case 700:
      return "check the pointers, indices and sizes that this operation works with, and that its memory still lives";
    case 710:
      return "read the assertion that the program printed, and check the values it tests at this line";
    case 716:
      return "check the alignment of the pointers at this line against the types they are read and written as";
    case 702:
      return "check whether this kernel can end within the time limit of a GPU that drives a display";
    case 214:
    case 220:
      return "look into the kernel log (dmesg, Xid) and nvidia-smi: this code can come from the hardware";
    default:
      return "check the arguments of the operation at this line";
  }
}

std::string refused_call(const analyse::Failure& failure) {
  switch (failure.code) {
    case 9:
      return "compare grid, block and shared memory with the limits of this GPU";
    case 209:
    case 222:
    case 218:
      return "build for the architecture of this GPU, or with PTX that this driver can compile";
    case 101:
      return "check the device number against CUDA_VISIBLE_DEVICES";
    case 701:
      return "ask for fewer threads a block or less shared memory, or bound the kernel's registers";
    default:
      break;
  }
  const bool is_launch = failure.reported != nullptr && (failure.reported->flags & wire::error::kLaunch) != 0;
  return is_launch ? "check grid, block, shared memory and stream of this launch" : "check the arguments of this call";
}

}  // namespace

std::vector<std::string> next_steps(const analyse::Failure& failure) {
  switch (failure.kind) {
    case analyse::Kind::async_error:
    case analyse::Kind::graph_node:
      return {device_exception(failure.code)};
    case analyse::Kind::out_of_memory:
      return {"ask for less at once, free what is no longer used, and see with nvidia-smi who else holds memory"};
    case analyse::Kind::capture_violation:
      return {"keep this call out of the capture, or capture in thread-local mode if another thread makes it"};
    case analyse::Kind::sync_error:
      return {refused_call(failure)};
    case analyse::Kind::unchecked_error:
      return {refused_call(failure), "check what this call returns (after <<<>>>: cudaGetLastError())"};
  }
  return {};
}

}  // namespace cudadiag::report
