#include "record/calls/parameter_layouts.h"

#include <string.h>

#include <algorithm>
#include <array>

#include "wire/launch_parameters.h"

namespace cudadiag::record {

namespace {

constexpr std::size_t kMostParameters = 512;
constexpr std::size_t kMostBytes = 1u << 15;  // the driver's own limit on a launch's parameters

}  // namespace

void ParameterLayouts::attach(AreaMap& area, const DriverApi& driver) {
  driver_ = &driver;
  pool_ = reinterpret_cast<std::uint16_t*>(area.region(wire::area::Region::layouts));
}

// Tries both queries, because the program may have passed a CUkernel as a CUfunction. Each query rejects handles of the
// other type.
std::uint32_t ParameterLayouts::ask(CUfunction function) {
  std::array<std::uint16_t, 1 + 2 * kMostParameters> layout;
  std::size_t count = 0, offset = 0, size = 0;
  {
    const RelaxedCapture relaxed(*driver_);
    const auto info = [&](std::size_t at) {
      return (driver_->func_get_param_info != nullptr &&
              driver_->func_get_param_info(function, at, &offset, &size) == CUDA_SUCCESS) ||
             (driver_->kernel_get_param_info != nullptr &&
              driver_->kernel_get_param_info(reinterpret_cast<CUkernel>(function), at, &offset, &size) == CUDA_SUCCESS);
    };
    for (; count < kMostParameters && info(count) && offset < kMostBytes && size <= kMostBytes - offset; ++count) {
      layout[1 + 2 * count] = static_cast<std::uint16_t>(offset);
      layout[2 + 2 * count] = static_cast<std::uint16_t>(size);
    }
  }
  layout[0] = static_cast<std::uint16_t>(count);
  const LockGuard lock(mutex_);
  const std::size_t length = 1 + 2 * count;
  if (used_ + length > wire::launch_parameters::kLayouts) return 0;
  memcpy(pool_ + used_, layout.data(), length * sizeof layout[0]);
  const std::uint32_t at = used_;
  used_ += static_cast<std::uint32_t>(length);
  return at;
}

ParameterLayout ParameterLayouts::of(CUfunction function) {
  // Every launch computes this hash, so it is a single multiplication. The upper half of the product is well mixed.
  const std::uint64_t handle = reinterpret_cast<std::uint64_t>(function) + generation_.load(std::memory_order_relaxed);
  const std::uint64_t product = handle * 0x9e3779b97f4a7c15;
  const std::uint64_t key = (product ^ product >> 32) | 1;
  std::uint32_t at = known_.find(key);
  if (at == 0) [[unlikely]] {
    at = ask(function);
    if (at == 0) return {};
    const LockGuard lock(mutex_);
    known_.insert(key, at);
  }
  return {at, pool_[at], pool_ + at + 1};
}

ParameterBuffer parameter_buffer(void* const* extra) {
  ParameterBuffer buffer;
  if (extra == nullptr) return buffer;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      buffer.bytes = extra[1];
    } else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      if (extra[1] != nullptr) buffer.size = *static_cast<const std::size_t*>(extra[1]);
    } else {
      return {};
    }
  }
  return buffer.bytes == nullptr ? ParameterBuffer() : ParameterBuffer{buffer.bytes, std::min(buffer.size, kMostBytes)};
}

}  // namespace cudadiag::record
