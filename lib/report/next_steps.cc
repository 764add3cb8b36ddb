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

std::string broken_capture(const analyse::Failure& failure) {
  switch (failure.code) {
    case 901:
      return "look between the beginning of the capture and this call for one that may not be made in a capture "
             "(allocating, synchronising, reading a result, the default stream), and check what each returns";
    case 902:
      return "do not make one capture wait for an event of another: capture both as one, or order their replays";
    case 903:
      return "end the capture on the stream that it was begun on";
    case 904:
      return "let the stream that began the capture wait for an event at the end of every stream that joined it";
    case 905:
      return "let the capture wait only for events recorded in it: wait for earlier work before it begins";
    case 906:
      return "keep the default stream out of the capture, or make the capturing stream with cudaStreamNonBlocking";
    case 907:
      return "do not wait for or ask about an event that was recorded in the capture: it is part of the graph";
    case 908:
      return "end the capture on the thread that began it, or begin it in relaxed mode";
    default:
      break;
  }
  const session::Error& noticed = failure.noticed != nullptr ? *failure.noticed : *failure.reported;
  if (noticed.capture.began != 0 && noticed.capture.tid != failure.reported->tid) {
    return "capture in thread-local mode (PyTorch: capture_error_mode=\"thread_local\"), or hold this call back while "
           "another thread captures";
  }
  return "make this call before the capture begins or after it ends: no allocating, synchronising or reading of "
         "results inside";
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
      return {broken_capture(failure)};
    case analyse::Kind::sync_error:
      return {refused_call(failure)};
    case analyse::Kind::unchecked_error:
      return {refused_call(failure), "check what this call returns (after <<<>>>: cudaGetLastError())"};
  }
  return {};
}

}  // namespace cudadiag::report
