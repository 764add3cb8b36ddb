// Records memory: who allocated which, who freed it, and how much was left when there was none.
#include "record/calls/memory_calls.h"
#include "record/clock.h"
#include "record/recorder.h"
#include "record/this_thread.h"

namespace cudadiag::record {

namespace operation = wire::operation;
using operation::Kind;

void Recorder::note_memory(ThreadState& thread, std::uint32_t id, const CUpti_CallbackData& data,
                           std::uintptr_t frame) {
  using What = MemoryCall::What;
  if (failures_.frozen()) return;
  MemoryCall call = decode_memory_call(id, data.functionParams);
  if (call.what == What::asks || call.address == 0) return;
  const bool ordered = thread.open.record != nullptr;
  // A node of a graph then, whose memory lives with its replays.
  if (ordered && (thread.open.flags & operation::kCaptured) != 0) return;
  const std::uint32_t stream = ordered ? thread.open.stream : operation::kNoStream;
  const Place at = place(thread, id, Kind::allocation, 0, frame);
  const std::uint32_t site = interner_.site(at.key, at.python, at.native, 0, Kind::allocation, thread.index);
  const Allocations::Freed freed = {call.address, wire::load(thread.entry, wire::thread::kCallTicks), site, stream};
  const std::uint32_t context = streams_.context_index(data.contextUid);
  if (options_.races && call.what != What::makes) races_.memory(thread, id, call, stream, context, site);
  if (call.what == What::frees) return allocations_.freed(freed);
  if (call.what == What::unmaps) return allocations_.unmapped(freed, call.bytes);
  if (call.bytes == 0 && driver_.mem_get_address_range != nullptr) {
    const RelaxedCapture relaxed(driver_);
    CUdeviceptr begin = 0;
    std::size_t size = 0;
    if (driver_.mem_get_address_range(&begin, &size, call.address) == CUDA_SUCCESS) call.bytes = size;
  }
  if (options_.races) races_.memory(thread, id, call, stream, context, site);
  allocations_.made({call.address, call.bytes, call.kind, thread.index, site, context, stream});
}

// By a thread that has no ring.
void Recorder::note_unrecorded_memory(std::uint32_t id, const CallRule& rule, const CUpti_CallbackData& data) {
  using What = MemoryCall::What;
  if (failures_.frozen()) return;
  const MemoryCall call = decode_memory_call(id, data.functionParams);
  const bool may_be_node = rule.role == Role::operation && streams_.capture_going_on();
  const Allocations::Freed freed = {call.address, t_this.entered, 0, operation::kNoStream};
  if (call.what == What::makes && call.address != 0) area_.count(wire::area::kDroppedAllocations);
  if (call.what == What::frees && !may_be_node) allocations_.freed(freed);
  if (call.what == What::unmaps) allocations_.unmapped(freed, call.bytes);
}

void Recorder::note_peer_access(std::uint32_t id, const CUpti_CallbackData& data) {
  see_context(data);
  if (id == CUPTI_DRIVER_TRACE_CBID_cuCtxEnablePeerAccess) {
    streams_.give_access(data.contextUid,
                         static_cast<const cuCtxEnablePeerAccess_params*>(data.functionParams)->peerContext);
  } else {
    streams_.take_access(data.contextUid,
                         static_cast<const cuCtxDisablePeerAccess_params*>(data.functionParams)->peerContext);
  }
}

void Recorder::note_context_destroyed(ThreadState* thread, std::uint32_t uid, std::uintptr_t frame) {
  const std::uint32_t context = streams_.context_index(uid);
  if (failures_.frozen() || context == Streams::kNone) return;
  std::uint32_t site = 0;
  if (thread != nullptr) {
    const Place at = place(*thread, 0, Kind::allocation, 0, frame);
    site = interner_.site(at.key, at.python, at.native, 0, Kind::allocation, thread->index);
  }
  allocations_.context_destroyed(context, {0, ticks(), site, operation::kNoStream});
}

void Recorder::ask_what_is_left(FailedCall& failed) const {
  if (driver_.mem_get_info == nullptr || streams_.capture_going_on()) return;
  const RelaxedCapture relaxed(driver_);
  std::size_t free = 0, total = 0;
  if (driver_.mem_get_info(&free, &total) != CUDA_SUCCESS) return;
  failed.device_free = free;
  failed.device_total = total;
}

}  // namespace cudadiag::record
