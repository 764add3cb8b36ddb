// Allocation, registration, copies and memsets.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

#include "api/api.h"

using sim::Gpu;
using sim::Memory;
using sim::Op;

namespace {

template <typename Pointer>
CUresult allocate(Pointer* place, std::size_t bytes, Memory::Kind kind) {
  std::uint64_t address = 0;
  const CUresult result = Gpu::instance().memory.allocate(sim::current_context()->uid, bytes, kind, address);
  if (result == CUDA_SUCCESS) *place = (Pointer)address;  // NOLINT: a pointer or an integer
  return result;
}

// Freeing waits for the device, as in the real driver.
CUresult release(std::uint64_t address, Memory::Kind kind) {
  Gpu& gpu = Gpu::instance();
  {
    Gpu::Lock lock(gpu.mutex);
    CUctx_st& context = *sim::current_context();
    if (const CUresult error = gpu.wait(lock, context, gpu.everything_in(context)); error != CUDA_SUCCESS) return error;
  }
  return gpu.memory.release(address, kind);
}

CUresult issue(CUstream handle, bool per_thread, Op op, bool blocking) {
  Gpu& gpu = Gpu::instance();
  Gpu::Lock lock(gpu.mutex);
  CUstream_st* stream = sim::stream_of(handle, per_thread);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  const bool capturing = stream->capture != nullptr;
  const CUresult result = sim::issue(lock, *stream, std::move(op));
  if (result != CUDA_SUCCESS || !blocking || capturing) return result;
  return gpu.wait(lock, *stream->context, {{stream->shared_from_this(), stream->issued}});
}

// The direction of a copy, if the name of the call gives it. `known`: the driver derives the direction from the
// addresses.
enum class Sides { known, host_to_device, device_to_host, device_to_device };

// How a call issues its operation.
struct Way {
  CUstream stream;
  bool per_thread, blocking;
};

CUresult copy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, Sides sides, Way way) {
  const Memory& memory = Gpu::instance().memory;
  const bool to_known = memory.holds(to, 0);
  const bool from_known = memory.holds(from, 0);
  if (bytes == 0) return CUDA_SUCCESS;
  if (!to || !from) return CUDA_ERROR_INVALID_VALUE;
  if (sides != Sides::known && sides != Sides::device_to_host && !to_known) return CUDA_ERROR_INVALID_VALUE;
  if (sides != Sides::known && sides != Sides::host_to_device && !from_known) return CUDA_ERROR_INVALID_VALUE;
  Op op{.kind = Op::Kind::copy, .device_source = from_known, .device_destination = to_known};
  op.destination = to;
  op.source = from;
  op.bytes = bytes;
  if (!from_known && !way.blocking) {  // pageable: the caller may reuse it at once
    op.staged = std::shared_ptr<char[]>(new char[bytes]);
    std::memcpy(op.staged.get(), reinterpret_cast<const void*>(from), bytes);
  }
  return issue(way.stream, way.per_thread, std::move(op), way.blocking || !to_known);
}

CUresult set(Op::Kind kind, CUdeviceptr to, std::uint32_t value, std::size_t bytes, Way way) {
  if (bytes == 0) return CUDA_SUCCESS;
  if (!Gpu::instance().memory.holds(to, 0)) return CUDA_ERROR_INVALID_VALUE;
  Op op{.kind = kind, .device_destination = true, .value = value, .destination = to, .bytes = bytes};
  return issue(way.stream, way.per_thread, std::move(op), way.blocking);
}

CUresult prefetch(CUdeviceptr place, std::size_t bytes, CUstream stream, bool per_thread) {
  if (!Gpu::instance().memory.holds(place, 0)) return CUDA_ERROR_INVALID_VALUE;
  Op op{.kind = Op::Kind::prefetch, .device_destination = true, .destination = place, .bytes = bytes};
  return issue(stream, per_thread, std::move(op), false);
}

CUdeviceptr device_view(const void* host) { return reinterpret_cast<CUdeviceptr>(host); }

}  // namespace

SIM_API(cuMemGetInfo_v2, context, (std::size_t * free, std::size_t* total), (free, total)) {
  *free = Gpu::instance().memory.free_bytes();
  *total = Gpu::instance().memory.total();
  return CUDA_SUCCESS;
}

SIM_API(cuMemAlloc_v2, quiet, (CUdeviceptr * dptr, std::size_t bytesize), (dptr, bytesize)) {
  return allocate(dptr, bytesize, Memory::Kind::device);
}

SIM_API(cuMemFree_v2, quiet, (CUdeviceptr dptr), (dptr)) {
  return dptr ? release(dptr, Memory::Kind::device) : CUDA_SUCCESS;
}

SIM_API_STREAM(cuMemAllocAsync, _ptsz, context, (CUdeviceptr * dptr, std::size_t bytesize, CUstream hStream),
               (dptr, bytesize, hStream)) {
  static_cast<void>(hStream);
  return allocate(dptr, bytesize, Memory::Kind::device);
}

SIM_API_STREAM(cuMemFreeAsync, _ptsz, context, (CUdeviceptr dptr, CUstream hStream), (dptr, hStream)) {
  static_cast<void>(hStream);
  return release(dptr, Memory::Kind::device);
}

SIM_API(cuMemHostAlloc, quiet, (void** pp, std::size_t bytesize, unsigned int Flags), (pp, bytesize, Flags)) {
  static_cast<void>(Flags);
  return allocate(pp, bytesize, Memory::Kind::pinned);
}

SIM_API(cuMemFreeHost, quiet, (void* p), (p)) { return release(device_view(p), Memory::Kind::pinned); }

// Since 6.5, Linux lets no driver pin the pages of a file on a disk.
static bool is_of_disk(const void* memory) {
  std::ifstream maps("/proc/self/maps");
  const auto wanted = reinterpret_cast<std::uintptr_t>(memory);
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    char rights[8] = "", path[128] = "";
    if (std::sscanf(line.c_str(), "%lx-%lx %7s %*s %*s %*s %127s", &begin, &end, rights, path) < 3) continue;
    const std::string_view name = path;
    if (wanted >= begin && wanted < end) {
      return rights[3] == 's' && name.starts_with('/') && !name.starts_with("/memfd:") && !name.starts_with("/dev/");
    }
  }
  return false;
}

SIM_API(cuMemHostRegister_v2, quiet, (void* p, std::size_t bytesize, unsigned int Flags), (p, bytesize, Flags)) {
  static_cast<void>(Flags);
  if (is_of_disk(p)) return CUDA_ERROR_INVALID_VALUE;
  return Gpu::instance().memory.enlist(sim::current_context()->uid, device_view(p), bytesize);
}

SIM_API(cuMemHostUnregister, quiet, (void* p), (p)) { return release(device_view(p), Memory::Kind::registered); }

SIM_API(cuMemHostGetDevicePointer_v2, context, (CUdeviceptr * pdptr, void* p, unsigned int Flags), (pdptr, p, Flags)) {
  if (Flags != 0 || !Gpu::instance().memory.holds(device_view(p), 0)) return CUDA_ERROR_INVALID_VALUE;
  *pdptr = device_view(p);
  return CUDA_SUCCESS;
}

SIM_API(cuPointerGetAttribute, context, (void* data, CUpointer_attribute attribute, CUdeviceptr ptr),
        (data, attribute, ptr)) {
  const Memory& memory = Gpu::instance().memory;
  if (!memory.holds(ptr, 0)) return CUDA_ERROR_INVALID_VALUE;
  auto* to = static_cast<unsigned int*>(data);
  if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE) {
    *to = memory.is_of_host(ptr) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  } else if (attribute == CU_POINTER_ATTRIBUTE_IS_MANAGED) {
    *to = 0;
  } else {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_SUCCESS;
}

SIM_API_STREAM(cuMemcpy, _ptds, quiet, (CUdeviceptr dst, CUdeviceptr src, std::size_t ByteCount),
               (dst, src, ByteCount)) {
  return copy(dst, src, ByteCount, Sides::known, {nullptr, per_thread, true});
}

SIM_API_STREAM(cuMemcpyAsync, _ptsz, context,
               (CUdeviceptr dst, CUdeviceptr src, std::size_t ByteCount, CUstream hStream),
               (dst, src, ByteCount, hStream)) {
  return copy(dst, src, ByteCount, Sides::known, {hStream, per_thread, false});
}

SIM_API_STREAM(cuMemcpyHtoD_v2, _ptds, quiet, (CUdeviceptr dstDevice, const void* srcHost, std::size_t ByteCount),
               (dstDevice, srcHost, ByteCount)) {
  return copy(dstDevice, device_view(srcHost), ByteCount, Sides::host_to_device, {nullptr, per_thread, true});
}

SIM_API_STREAM(cuMemcpyDtoH_v2, _ptds, quiet, (void* dstHost, CUdeviceptr srcDevice, std::size_t ByteCount),
               (dstHost, srcDevice, ByteCount)) {
  return copy(device_view(dstHost), srcDevice, ByteCount, Sides::device_to_host, {nullptr, per_thread, true});
}

SIM_API_STREAM(cuMemcpyDtoD_v2, _ptds, quiet, (CUdeviceptr dstDevice, CUdeviceptr srcDevice, std::size_t ByteCount),
               (dstDevice, srcDevice, ByteCount)) {
  return copy(dstDevice, srcDevice, ByteCount, Sides::device_to_device, {nullptr, per_thread, true});
}

SIM_API_STREAM(cuMemcpyHtoDAsync_v2, _ptsz, context,
               (CUdeviceptr dstDevice, const void* srcHost, std::size_t ByteCount, CUstream hStream),
               (dstDevice, srcHost, ByteCount, hStream)) {
  return copy(dstDevice, device_view(srcHost), ByteCount, Sides::host_to_device, {hStream, per_thread, false});
}

SIM_API_STREAM(cuMemcpyDtoHAsync_v2, _ptsz, context,
               (void* dstHost, CUdeviceptr srcDevice, std::size_t ByteCount, CUstream hStream),
               (dstHost, srcDevice, ByteCount, hStream)) {
  return copy(device_view(dstHost), srcDevice, ByteCount, Sides::device_to_host, {hStream, per_thread, false});
}

SIM_API_STREAM(cuMemcpyDtoDAsync_v2, _ptsz, context,
               (CUdeviceptr dstDevice, CUdeviceptr srcDevice, std::size_t ByteCount, CUstream hStream),
               (dstDevice, srcDevice, ByteCount, hStream)) {
  return copy(dstDevice, srcDevice, ByteCount, Sides::device_to_device, {hStream, per_thread, false});
}

// Each row of the copy is a separate operation.
SIM_API_STREAM(cuMemcpy2DAsync_v2, _ptsz, context, (const CUDA_MEMCPY2D* pCopy, CUstream hStream), (pCopy, hStream)) {
  const auto place = [](CUmemorytype type, const void* host, CUdeviceptr device, CUarray array) {
    return type == CU_MEMORYTYPE_ARRAY ? array->begin : type == CU_MEMORYTYPE_HOST ? device_view(host) : device;
  };
  const auto pitch = [](CUmemorytype type, std::size_t of_memory, CUarray array) {
    return type == CU_MEMORYTYPE_ARRAY ? array->row : of_memory;
  };
  const CUDA_MEMCPY2D& p = *pCopy;
  const CUdeviceptr to = place(p.dstMemoryType, p.dstHost, p.dstDevice, p.dstArray) + p.dstXInBytes;
  const CUdeviceptr from = place(p.srcMemoryType, p.srcHost, p.srcDevice, p.srcArray) + p.srcXInBytes;
  const std::size_t to_pitch = pitch(p.dstMemoryType, p.dstPitch, p.dstArray);
  const std::size_t from_pitch = pitch(p.srcMemoryType, p.srcPitch, p.srcArray);
  for (std::size_t row = 0; row < pCopy->Height; ++row) {
    const CUresult result = copy(to + (pCopy->dstY + row) * to_pitch, from + (pCopy->srcY + row) * from_pitch,
                                 pCopy->WidthInBytes, Sides::known, {hStream, per_thread, false});
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

SIM_API_STREAM(cuMemcpyBatchAsync_v2, _ptsz, context,
               (CUdeviceptr * dsts, CUdeviceptr* srcs, std::size_t* sizes, std::size_t count, CUmemcpyAttributes* attrs,
                std::size_t* attrsIdxs, std::size_t numAttrs, CUstream hStream),
               (dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, hStream)) {
  static_cast<void>(attrs), static_cast<void>(attrsIdxs), static_cast<void>(numAttrs);
  for (std::size_t i = 0; i < count; ++i) {
    const CUresult result = copy(dsts[i], srcs[i], sizes[i], Sides::known, {hStream, per_thread, false});
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

SIM_API_STREAM(cuMemsetD8_v2, _ptds, quiet, (CUdeviceptr dstDevice, unsigned char uc, std::size_t N),
               (dstDevice, uc, N)) {
  return set(Op::Kind::set8, dstDevice, uc, N, {nullptr, per_thread, true});
}

SIM_API_STREAM(cuMemsetD32_v2, _ptds, quiet, (CUdeviceptr dstDevice, unsigned int ui, std::size_t N),
               (dstDevice, ui, N)) {
  return set(Op::Kind::set32, dstDevice, ui, N * 4, {nullptr, per_thread, true});
}

SIM_API_STREAM(cuMemsetD8Async, _ptsz, context,
               (CUdeviceptr dstDevice, unsigned char uc, std::size_t N, CUstream hStream),
               (dstDevice, uc, N, hStream)) {
  return set(Op::Kind::set8, dstDevice, uc, N, {hStream, per_thread, false});
}

SIM_API_STREAM(cuMemsetD32Async, _ptsz, context,
               (CUdeviceptr dstDevice, unsigned int ui, std::size_t N, CUstream hStream), (dstDevice, ui, N, hStream)) {
  return set(Op::Kind::set32, dstDevice, ui, N * 4, {hStream, per_thread, false});
}

SIM_API_STREAM(cuMemPrefetchAsync, _ptsz, context,
               (CUdeviceptr devPtr, std::size_t count, CUdevice dstDevice, CUstream hStream),
               (devPtr, count, dstDevice, hStream)) {
  static_cast<void>(dstDevice);
  return prefetch(devPtr, count, hStream, per_thread);
}

SIM_API_STREAM(cuMemPrefetchAsync_v2, _ptsz, context,
               (CUdeviceptr devPtr, std::size_t count, CUmemLocation location, unsigned int flags, CUstream hStream),
               (devPtr, count, location, flags, hStream)) {
  static_cast<void>(location), static_cast<void>(flags);
  return prefetch(devPtr, count, hStream, per_thread);
}
