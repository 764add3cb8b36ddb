#include "record/memory/memory_recorder.h"

#include "record/libc_substitutes.h"
#include "record/this_thread.h"

namespace cudadiag::record {

namespace operation = wire::operation;
using operation::Kind;
using What = MemoryCall::What;

void MemoryRecorder::attach(AreaMap& area, const DriverApi& driver, OperationRecorder& operations) {
  area_ = &area;
  driver_ = &driver;
  operations_ = &operations;
  allocations_.attach(area);
}

void MemoryRecorder::note(ThreadState& thread, std::uint32_t id, const CUpti_CallbackData& data, std::uintptr_t frame) {
  MemoryCall call = decode_memory_call(id, data.functionParams);
  if (call.what == What::asks || call.address == 0) return;
  if (call.what == What::grants) return allocations_.granted(call.address, call.bytes);
  const bool ordered = thread.open.record != nullptr;
  // Ignores a captured operation: it became a graph node, whose memory is live only during replays.
  if (ordered && (thread.open.flags & operation::kCaptured) != 0) return;
  const std::uint32_t stream = ordered ? thread.open.stream : operation::kNoStream;
  const std::uint32_t site = operations_->sites().site_of(thread, id, Kind::allocation, frame);
  const Allocations::Freed freed = {call.address, wire::load(thread.entry, wire::thread::kCallTicks), site, stream};
  const std::uint32_t context = operations_->streams().context_index(data.contextUid);
  if (races_ != nullptr && call.what != What::makes) races_->memory(thread, id, call, stream, context, site);
  if (call.what == What::frees) return allocations_.freed(freed);
  if (call.what == What::unmaps) return allocations_.unmapped(freed, call.bytes);
  if (call.bytes == 0) call.bytes = size_at(call.address);
  if (races_ != nullptr) {
    races_->memory(thread, id, call, stream, context, site);
    races_->memory_made(id, data.functionParams, call);
  }
  allocations_.made({call.address, call.bytes, call.kind, thread.index, site, context, stream});
}

std::uint64_t MemoryRecorder::size_at(std::uint64_t address) const {
  if (driver_->mem_get_address_range == nullptr) return 0;
  const RelaxedCapture relaxed(*driver_);
  CUdeviceptr begin = 0;
  std::size_t size = 0;
  return driver_->mem_get_address_range(&begin, &size, address) == CUDA_SUCCESS ? size : 0;
}

void MemoryRecorder::note_unrecorded(std::uint32_t id, const CallRule& rule, const CUpti_CallbackData& data) {
  const MemoryCall call = decode_memory_call(id, data.functionParams);
  const bool may_be_node = rule.role == Role::operation && operations_->streams().capture_going_on();
  const Allocations::Freed freed = {call.address, t_this.entered, 0, operation::kNoStream};
  if (call.what == What::makes && call.address != 0) area_->count(wire::area::kDroppedAllocations);
  if (call.what == What::frees && !may_be_node) allocations_.freed(freed);
  if (call.what == What::unmaps) allocations_.unmapped(freed, call.bytes);
}

void MemoryRecorder::note_peer_access(std::uint32_t id, const CUpti_CallbackData& data) {
  operations_->see_context(data);
  if (id == CUPTI_DRIVER_TRACE_CBID_cuCtxEnablePeerAccess) {
    operations_->streams().contexts().give_access(
        data.contextUid, static_cast<const cuCtxEnablePeerAccess_params*>(data.functionParams)->peerContext);
  } else {
    operations_->streams().contexts().take_access(
        data.contextUid, static_cast<const cuCtxDisablePeerAccess_params*>(data.functionParams)->peerContext);
  }
}

void MemoryRecorder::context_destroyed(ThreadState* thread, std::uint32_t context, std::uintptr_t frame) {
  if (context == Streams::kNone) return;
  constexpr std::uint32_t kNoCall = 0;
  const std::uint32_t site =
      thread == nullptr ? 0 : operations_->sites().site_of(*thread, kNoCall, Kind::allocation, frame);
  allocations_.context_destroyed(context, {0, ticks(), site, operation::kNoStream});
}

}  // namespace cudadiag::record
