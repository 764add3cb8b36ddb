// The rules for driver calls that allocate or free memory, by CUPTI callback id.
#pragma once

#include <cupti.h>

#include <cstdint>

#include "wire/allocation.h"

namespace cudadiag::record {

struct MemoryCall {
  enum class What : std::uint8_t {
    none,
    makes,
    frees,   // frees the allocation that begins at `address`
    unmaps,  // unmaps the range of `bytes` bytes at `address`
    asks,    // allocates memory that has no address yet; only the size is used
  };
  What what = What::none;
  wire::allocation::Kind kind = wire::allocation::Kind::none;
  std::uint64_t address = 0, bytes = 0;  // `bytes` is 0 if the call has no size
};

constexpr MemoryCall::What memory_call(std::uint32_t id) {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocHost_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc:
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuMemMap:
    case CUPTI_DRIVER_TRACE_CBID_cuIpcOpenMemHandle_v2:
      return MemoryCall::What::makes;
    case CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost:
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostUnregister:
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuIpcCloseMemHandle:
      return MemoryCall::What::frees;
    case CUPTI_DRIVER_TRACE_CBID_cuMemUnmap:
      return MemoryCall::What::unmaps;
    case CUPTI_DRIVER_TRACE_CBID_cuMemCreate:
      return MemoryCall::What::asks;
    default:
      return MemoryCall::What::none;
  }
}

// `parameters` is CUPTI's structure at EXIT of a successful call.
MemoryCall decode_memory_call(std::uint32_t id, const void* parameters);
// Returns the number of bytes that the call requests; 0 if it requests none. May be called at ENTER or EXIT.
std::uint64_t bytes_asked_for(std::uint32_t id, const void* parameters);

}  // namespace cudadiag::record
