#include "record/calls/memory_calls.h"

namespace cudadiag::record {

namespace {

using wire::allocation::Kind;

// Reads no output pointers, because they are invalid at ENTER and after a failed call.
template <typename Parameters>
std::uint64_t bytes(const void* raw) {
  const auto& p = *static_cast<const Parameters*>(raw);
  if constexpr (requires { p.bytesize; }) return p.bytesize;
  if constexpr (requires { p.size; }) return p.size;
  if constexpr (requires { p.WidthInBytes* p.Height; }) return p.WidthInBytes * p.Height;
  return 0;
}

template <typename Pointer>
std::uint64_t number(Pointer pointer) {
  return (std::uint64_t)pointer;  // NOLINT: a pointer or an integer
}

template <typename Parameters>
MemoryCall made(const void* raw, Kind kind) {
  const auto& p = *static_cast<const Parameters*>(raw);
  MemoryCall call;
  call.kind = kind;
  call.bytes = bytes<Parameters>(raw);
  if constexpr (requires { *p.dptr; }) call.address = p.dptr == nullptr ? 0 : number(*p.dptr);
  if constexpr (requires { *p.pdptr; }) call.address = p.pdptr == nullptr ? 0 : number(*p.pdptr);
  if constexpr (requires { *p.pp; }) call.address = p.pp == nullptr ? 0 : number(*p.pp);
  if constexpr (requires {
                  p.p;
                  p.bytesize;
                })
    call.address = number(p.p);
  if constexpr (requires {
                  p.ptr;
                  p.handle;
                })
    call.address = number(p.ptr);
  if constexpr (requires { *p.pPitch; }) {
    if (p.pPitch != nullptr) call.bytes = *p.pPitch * p.Height;
  }
  return call;
}

template <typename Parameters>
MemoryCall freed(const void* raw) {
  const auto& p = *static_cast<const Parameters*>(raw);
  MemoryCall call;
  if constexpr (requires { p.dptr; }) call.address = number(p.dptr);
  if constexpr (requires { p.p; }) call.address = number(p.p);
  if constexpr (requires { p.ptr; }) call.address = number(p.ptr);
  if constexpr (requires { p.size; }) call.bytes = p.size;
  return call;
}

}  // namespace

MemoryCall decode_memory_call(std::uint32_t id, const void* parameters) {
  MemoryCall call;
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2:
      call = made<cuMemAlloc_v2_params>(parameters, Kind::device);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2:
      call = made<cuMemAllocPitch_v2_params>(parameters, Kind::device);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged:
      call = made<cuMemAllocManaged_params>(parameters, Kind::managed);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocHost_v2:
      call = made<cuMemAllocHost_v2_params>(parameters, Kind::pinned);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc:
      call = made<cuMemHostAlloc_params>(parameters, Kind::pinned);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister_v2:
      call = made<cuMemHostRegister_v2_params>(parameters, Kind::registered);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz:
      call = made<cuMemAllocAsync_params>(parameters, Kind::ordered);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync_ptsz:
      call = made<cuMemAllocFromPoolAsync_params>(parameters, Kind::ordered);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemMap:
      call = made<cuMemMap_params>(parameters, Kind::mapped);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuIpcOpenMemHandle_v2:
      call = made<cuIpcOpenMemHandle_v2_params>(parameters, Kind::opened);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2:
      call = freed<cuMemFree_v2_params>(parameters);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost:
      call = freed<cuMemFreeHost_params>(parameters);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostUnregister:
      call = freed<cuMemHostUnregister_params>(parameters);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync_ptsz:
      call = freed<cuMemFreeAsync_params>(parameters);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuIpcCloseMemHandle:
      call = freed<cuIpcCloseMemHandle_params>(parameters);
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemUnmap:
      call = freed<cuMemUnmap_params>(parameters);
      break;
    default:
      break;
  }
  call.what = memory_call(id);
  return call;
}

std::uint64_t bytes_asked_for(std::uint32_t id, const void* parameters) {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2:
      return bytes<cuMemAlloc_v2_params>(parameters);
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2:
      return bytes<cuMemAllocPitch_v2_params>(parameters);
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged:
      return bytes<cuMemAllocManaged_params>(parameters);
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocHost_v2:
      return bytes<cuMemAllocHost_v2_params>(parameters);
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc:
      return bytes<cuMemHostAlloc_params>(parameters);
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister_v2:
      return bytes<cuMemHostRegister_v2_params>(parameters);
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz:
      return bytes<cuMemAllocAsync_params>(parameters);
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync_ptsz:
      return bytes<cuMemAllocFromPoolAsync_params>(parameters);
    case CUPTI_DRIVER_TRACE_CBID_cuMemCreate:
      return bytes<cuMemCreate_params>(parameters);
    default:
      return 0;
  }
}

}  // namespace cudadiag::record
