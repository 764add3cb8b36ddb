#include "record/parameter_words.h"

#include "wire/hash.h"

namespace cudadiag::record {

namespace {

constexpr std::size_t kMostParameters = 512;
constexpr std::size_t kMostBytes = 1u << 15;  // the driver's own limit on a launch's parameters

}  // namespace

void ParameterWords::memory_made(std::uint64_t address, std::uint64_t bytes) {
  std::uint64_t known = lowest_.load(std::memory_order_relaxed);
  while (address < known && !lowest_.compare_exchange_weak(known, address, std::memory_order_relaxed)) {
  }
  known = highest_.load(std::memory_order_relaxed);
  while (address + bytes > known &&
         !highest_.compare_exchange_weak(known, address + bytes, std::memory_order_relaxed)) {
  }
}

// A CUkernel may have been passed for a CUfunction; each of the two calls refuses the other's handle.
std::uint32_t ParameterWords::ask(CUfunction function) {
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
  if (used_ + length > pool_.size()) return 0;
  std::memcpy(&pool_[used_], layout.data(), length * sizeof layout[0]);
  const std::uint32_t at = used_;
  used_ += static_cast<std::uint32_t>(length);
  return at;
}

ParameterWords::Layout ParameterWords::layout_of(CUfunction function) {
  const std::uint64_t key = wire::mix(wire::mix(wire::kHashSeed, generation_.load(std::memory_order_relaxed)),
                                      reinterpret_cast<std::uint64_t>(function)) |
                            1;
  std::uint32_t at = layouts_.find(key);
  if (at == 0) {
    at = ask(function);
    if (at == 0) return {0, nullptr};
    const LockGuard lock(mutex_);
    layouts_.insert(key, at);
  }
  return {pool_[at], &pool_[at + 1]};
}

void ParameterWords::scan(const void* bytes, std::size_t size, std::size_t offset, Found& found) const {
  const std::uint64_t lowest = lowest_.load(std::memory_order_relaxed),
                      highest = highest_.load(std::memory_order_relaxed);
  scan_zeros(bytes, size, offset, found);
  for (std::size_t at = (8 - offset % 8) % 8; at + 8 <= size && found.count < wire::race::kMostWords; at += 8) {
    std::uint64_t value;
    std::memcpy(&value, static_cast<const std::byte*>(bytes) + at, sizeof value);
    if (value < lowest || value >= highest) continue;
    found.words[found.count++] = {value, static_cast<std::uint16_t>(offset + at)};
  }
}

// The lower half of what may be a number of 8 bytes is not 0 by itself: 4 GiB more are not.
void ParameterWords::scan_zeros(const void* bytes, std::size_t size, std::size_t offset, Found& found) {
  for (std::size_t at = (4 - offset % 4) % 4; at + 4 <= size && (offset + at) / 4 < 32; at += 4) {
    std::uint64_t value = 0;
    std::memcpy(&value, static_cast<const std::byte*>(bytes) + at, (offset + at) % 8 == 0 && at + 8 <= size ? 8 : 4);
    if (value == 0) found.zeros |= 1u << (offset + at) / 4;
  }
}

void ParameterWords::find(CUfunction function, void* const* parameters, void* const* extra, Found& found) {
  found.count = 0;
  found.zeros = 0;
  if (parameters != nullptr) {
    const Layout layout = layout_of(function);
    for (std::size_t i = 0; i < layout.count; ++i) {
      if (parameters[i] != nullptr) scan(parameters[i], layout.places[2 * i + 1], layout.places[2 * i], found);
    }
    return;
  }
  if (extra == nullptr) return;
  const void* buffer = nullptr;
  std::size_t size = 0;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = extra[1];
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1] != nullptr) {
      size = *static_cast<const std::size_t*>(extra[1]);
    }
    if (extra[0] != CU_LAUNCH_PARAM_BUFFER_POINTER && extra[0] != CU_LAUNCH_PARAM_BUFFER_SIZE) return;
  }
  if (buffer != nullptr) scan(buffer, size < kMostBytes ? size : kMostBytes, 0, found);
}

}  // namespace cudadiag::record
