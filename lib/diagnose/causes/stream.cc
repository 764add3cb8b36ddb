// Rules for missing waits, peer access, handles of the wrong device, and calls that fail because an earlier call
// failed.

#include "diagnose/causes/rule.h"

namespace cudadiag::causes {
namespace {

bool takes_a_stream_or_event(const Case& failed, Facts& facts) {
  return names_refusing_call(failed, facts) &&
         (failed.is_launch() || has_any(failed.call(), {"Stream", "Event", "Async", "Graph", "Launch"}));
}

bool takes_times(const Case& failed, Facts& facts) {
  return names_refusing_call(failed, facts) && has_any(failed.call(), {"EventElapsedTime"});
}

bool follows_a_failure(const Case& failed, Facts& facts) {
  facts.add("swallowed", failed.finding.swallowed);
  return !failed.asynchronous() && !failed.finding.swallowed.empty();
}

// The driver's own explanation, if it gave one, says which of the meanings of an error applies.
bool lacks_context(const Case& failed, Facts& facts) {
  const std::string& explanation = failed.refused().explanation;
  return names_refusing_call(failed, facts) && (explanation.empty() || has_any(explanation, {"context"}));
}

bool opens_own_handle(const Case& failed, Facts& facts) {
  return names_refusing_call(failed, facts) && has_any(failed.refused().explanation, {"locally created"});
}

bool vanished(const Case& failed, Facts&) {
  return failed.asynchronous() && failed.vanished_when_serialised && !failed.may_be_another_client;
}

// The kernel's only pointer at fault is into memory that was freed while the kernel was queued.
bool freed_too_early(const Case& failed, Facts& facts) {
  const auto& access = failed.finding.access;
  if (!vanished(failed, facts) || !access || !access->parameter || !access->allocation) return false;
  const bool may_be_gone = access->relation == Relation::unknown || access->relation == Relation::inside;
  if (!may_be_gone || !access->loaded.empty() || !access->allocation->freed_later) return false;
  add_who(failed, facts);
  facts.add("parameter", parameter_text(*access));
  facts.add("bytes", size_text(access->allocation->bytes));
  add_place(facts, "freed", access->allocation->freed_later, failed.report.working_directory);
  return true;
}

}  // namespace

const std::vector<Rule>& stream_rules() {
  static const std::vector<Rule> rules = {
      {.id = "freed-too-early",
       .sure = Sure::often,
       .codes = {700, 717},
       .when = freed_too_early,
       .texts = {"{kernel} {verb} memory through {parameter}: {bytes} that were freed at {freed}, probably before the "
                 "kernel had finished: the failure did not recur in a rerun that waited for the kernel"},
       .fix = {"free the memory on the stream of its last use, or let the stream of the free wait for an event that is "
               "recorded after that use",
               "{torch:call tensor.record_stream(stream) for each other stream that uses the tensor}"},
       .link = "{torch:https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-streams|"
               "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#stream-ordered-memory-allocator}"},
      {.id = "missing-wait",
       .sure = Sure::often,
       .codes = {700, 710, 716, 719},
       .when = vanished,
       .texts = {"the failure recurred in a rerun, but not in one that waited at this operation; often a wait is "
                 "missing between two streams, or between host and GPU"},
       .fix =
           {"make the reading stream wait for the writing stream ({cuda:cudaStreamWaitEvent|cuStreamWaitEvent}{torch:; "
            "PyTorch: wait_stream, record_stream for tensors that cross streams})",
            "keep host buffers of asynchronous copies alive and unchanged until the copy has finished"},
       .link = "{torch:https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-streams|"
               "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#streams}"},
      {.id = "after-failed-call",
       .sure = Sure::often,
       .codes = {1, 201, 400, 500},
       .when = follows_a_failure,
       .texts = {"{swallowed} had failed earlier on this thread, and the program continued; this call often fails "
                 "because it uses something that {swallowed} should have created"},
       .fix = {"check what {swallowed} returns, and stop if it fails"},
       .link = "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__ERROR.html"},
      {.id = "event-without-time",
       .sure = Sure::often,
       .codes = {400},
       .when = takes_times,
       .texts = {"{call} was given an event that has no timestamp, often because it was never recorded, was created "
                 "without timing, or was destroyed"},
       .fix = {"record both events before the call, on every path to it",
               "create them without {cuda:cudaEventDisableTiming|CU_EVENT_DISABLE_TIMING}{torch: (PyTorch: "
               "torch.cuda.Event(enable_timing=True))}"},
       .link = "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__EVENT.html"},
      {.id = "event-without-ipc-handle",
       .sure = Sure::often,
       .codes = {400},
       .calls = {"IpcGetEventHandle"},
       .when = names_refusing_call,
       .texts = {"{call} was given an event that other processes cannot open, often because it was not created for "
                 "that"},
       .fix = {"create the event with both flags: {cuda:cudaEventInterprocess and cudaEventDisableTiming|"
               "CU_EVENT_INTERPROCESS and CU_EVENT_DISABLE_TIMING}"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#interprocess-communication"},
      {.id = "foreign-handle",
       .sure = Sure::often,
       .codes = {400},
       .when = takes_a_stream_or_event,
       .texts = {"{call} was given a handle that is not valid here, often because the stream or event does not belong "
                 "to the current device or context, or was destroyed"},
       .fix = {"make the stream's {cuda:device|context} current before the call "
               "({cuda:cudaSetDevice|cuCtxSetCurrent}{torch:; PyTorch: with torch.cuda.device(t.device), also for "
               "Triton and custom kernels})",
               "check that the stream or event still exists at the call, and that the device was not reset"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#stream-and-event-behavior"},
      {.id = "peer-access-unsupported",
       .codes = {217},
       .when = names_refusing_call,
       .texts = {"{call}: the two devices cannot reach each other's memory"},
       .fix = {"call {cuda:cudaDeviceCanAccessPeer|cuDeviceCanAccessPeer} first, and copy through the host if it "
               "reports no access (nvidia-smi topo -m shows the links)"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#peer-to-peer-memory-access"},
      {.id = "peer-access-unsupported",
       .sure = Sure::often,
       .codes = {101},
       .calls = {"EnablePeerAccess"},
       .when = names_refusing_call,
       .texts = {"{call} could not use the device, often because the two devices cannot reach each other's memory, or "
                 "this process has no device with that number"},
       .fix = {"call {cuda:cudaDeviceCanAccessPeer|cuDeviceCanAccessPeer} first, and copy through the host if it "
               "reports no access (nvidia-smi topo -m shows the links)"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#peer-to-peer-memory-access"},
      {.id = "peer-access-not-enabled",
       .codes = {705},
       .calls = {"DisablePeerAccess"},
       .when = names_refusing_call,
       .texts = {"{call} disables access to another device's memory, but this device does not have that access, so "
                 "there is nothing to disable"},
       .fix = {"call it once for each {cuda:cudaDeviceEnablePeerAccess|cuCtxEnablePeerAccess} that succeeded, with the "
               "same {cuda:device|context} current",
               "at the program's end, ignore this error: it does no harm{cuda:, and cudaGetLastError clears it}"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#peer-to-peer-memory-access"},
      {.id = "own-ipc-handle",
       .codes = {1, 201, 400},
       .calls = {"IpcOpenMemHandle", "IpcOpenEventHandle"},
       .when = opens_own_handle,
       .texts = {"{call} was given a handle that this process made itself: only another process can open it"},
       .fix = {"in the process that made the handle, use the original pointer",
               "if the handle came from another rank, check that the ranks did not receive their own"},
       .link = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#interprocess-communication"},
      {.id = "no-context",
       .sure = Sure::often,
       .codes = {201},
       .when = lacks_context,
       .texts = {"{call} found no valid context, often because no context is current on the thread, or the context "
                 "that is current or was passed to the call has been destroyed"},
       .fix = {"make a context current on this thread first: {cuda:cudaSetDevice|cuCtxSetCurrent}{torch:, or any "
               "tensor on the device}",
               "make sure that no context is used after it is destroyed or its device is reset"},
       .link = "https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__CTX.html"},
  };
  return rules;
}

}  // namespace cudadiag::causes
