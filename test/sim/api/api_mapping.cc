// Memory mapped at reserved addresses. A handle to such memory is simply its size in bytes.
#include <sys/mman.h>

#include "api/api.h"

using sim::Gpu;

namespace {

constexpr std::size_t kGranule = 4096;

bool is_whole(std::size_t bytes) { return bytes > 0 && bytes % kGranule == 0; }

}  // namespace

SIM_API(cuMemGetAllocationGranularity, driver,
        (std::size_t * granularity, const CUmemAllocationProp* prop, CUmemAllocationGranularity_flags option),
        (granularity, prop, option)) {
  static_cast<void>(prop), static_cast<void>(option);
  *granularity = kGranule;
  return CUDA_SUCCESS;
}

SIM_API(cuMemAddressReserve, driver,
        (CUdeviceptr * ptr, std::size_t size, std::size_t alignment, CUdeviceptr addr, unsigned long long flags),
        (ptr, size, alignment, addr, flags)) {
  if (!is_whole(size) || alignment != 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  std::uint64_t address = 0;
  const CUresult result = Gpu::instance().memory.reserve(size, addr, address);
  if (result == CUDA_SUCCESS) *ptr = address;
  return result;
}

SIM_API(cuMemAddressFree, driver, (CUdeviceptr ptr, std::size_t size), (ptr, size)) {
  munmap(reinterpret_cast<void*>(ptr), size);
  return CUDA_SUCCESS;
}

SIM_API(cuMemCreate, driver,
        (CUmemGenericAllocationHandle * handle, std::size_t size, const CUmemAllocationProp* prop,
         unsigned long long flags),
        (handle, size, prop, flags)) {
  static_cast<void>(prop);
  if (!is_whole(size) || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  *handle = size;
  return CUDA_SUCCESS;
}

SIM_API(cuMemRelease, driver, (CUmemGenericAllocationHandle handle), (handle)) {
  static_cast<void>(handle);
  return CUDA_SUCCESS;
}

SIM_API(cuMemMap, driver,
        (CUdeviceptr ptr, std::size_t size, std::size_t offset, CUmemGenericAllocationHandle handle,
         unsigned long long flags),
        (ptr, size, offset, handle, flags)) {
  if (offset != 0 || flags != 0 || handle != size) return CUDA_ERROR_INVALID_VALUE;
  return Gpu::instance().memory.map(ptr, size);
}

SIM_API(cuMemSetAccess, driver, (CUdeviceptr ptr, std::size_t size, const CUmemAccessDesc* desc, std::size_t count),
        (ptr, size, desc, count)) {
  static_cast<void>(size), static_cast<void>(desc), static_cast<void>(count);
  return Gpu::instance().memory.holds(ptr, 1) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM_API(cuMemUnmap, driver, (CUdeviceptr ptr, std::size_t size), (ptr, size)) {
  static_cast<void>(size);
  return Gpu::instance().memory.release(ptr, sim::Memory::Kind::mapped);
}
