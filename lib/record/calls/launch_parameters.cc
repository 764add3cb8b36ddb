#include "record/calls/launch_parameters.h"

#include <string.h>

#include <algorithm>
#include <cstring>

#include "wire/hash.h"
#include "wire/intern.h"
#include "wire/tables.h"

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

void ParameterWords::memory_made(std::uint64_t address, std::uint64_t bytes) {
  std::uint64_t known = lowest_.load(std::memory_order_relaxed);
  while (address < known && !lowest_.compare_exchange_weak(known, address, std::memory_order_relaxed)) {
  }
  known = highest_.load(std::memory_order_relaxed);
  while (address + bytes > known &&
         !highest_.compare_exchange_weak(known, address + bytes, std::memory_order_relaxed)) {
  }
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

// Notes which 4-byte words are 0. A word that may be the lower half of an 8-byte number is noted only if the whole
// number is 0. Without this, a multiple of 4 GiB would be noted as 0.
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
    const ParameterLayout layout = layouts_->of(function);
    for (std::size_t i = 0; i < layout.count; ++i) {
      if (parameters[i] != nullptr) scan(parameters[i], layout.size(i), layout.offset(i), found);
    }
  } else if (const ParameterBuffer buffer = parameter_buffer(extra); buffer.bytes != nullptr) {
    scan(buffer.bytes, buffer.size, 0, found);
  }
}

namespace wire_parameters = wire::launch_parameters;

namespace {

// Most parameters are 8 or 4 bytes long. With a constant size, the compiler replaces memcpy with a load and a store.
inline void copy(std::byte* to, const void* from, std::size_t size) {
  if (size == 8) {
    memcpy(to, from, 8);
  } else if (size == 4) {
    memcpy(to, from, 4);
  } else {
    memcpy(to, from, size);
  }
}

}  // namespace

void LatestParameters::keep(const ThreadState& thread, const Call& launch) {
  if (thread.parameters == nullptr) [[unlikely]]
    return;
  const std::uint64_t serial = thread.serial + 1;
  std::byte* slot = thread.parameters + serial % wire_parameters::kSlots * wire_parameters::kSlotSize;
  wire::store_release(slot, wire_parameters::kSerial, 0);
  std::atomic_thread_fence(std::memory_order_release);
  ParameterLayout layout;
  std::byte* values = slot + wire_parameters::kValues;
  std::size_t end = 0;
  std::uint16_t flags = 0;
  if (launch.parameters != nullptr) [[likely]] {
    layout = layouts_->of(launch.function);
    for (std::size_t i = 0; i < layout.count; ++i) {
      const std::size_t offset = layout.offset(i), size = layout.size(i);
      if (offset + size > wire_parameters::kMostBytes || launch.parameters[i] == nullptr) [[unlikely]] {
        flags = wire::intern::kCut;
        if (launch.parameters[i] != nullptr && offset < wire_parameters::kMostBytes) {
          memset(values + end, 0, offset - end);  // clears bytes of an earlier launch
          end = wire_parameters::kMostBytes;
          memcpy(values + offset, launch.parameters[i], end - offset);
        }
        break;
      }
      copy(values + offset, launch.parameters[i], size);
      end = offset + size;
    }
  } else if (const ParameterBuffer buffer = parameter_buffer(launch.extra); buffer.bytes != nullptr) {
    layout = layouts_->of(launch.function);
    end = buffer.size;
    if (end > wire_parameters::kMostBytes) {
      end = wire_parameters::kMostBytes;
      flags = wire::intern::kCut;
    }
    memcpy(values, buffer.bytes, end);
    // Marks the parameters as incomplete. NCCL passes only the used part of its kernels' single parameter.
    if (layout.end() > end) flags = wire::intern::kCut;
  }
  wire::store(slot, wire_parameters::kBytes, static_cast<std::uint16_t>(end));
  wire::store(slot, wire_parameters::kFlags, flags);
  wire::store(slot, wire_parameters::kLayout, layout.index);
  wire::store_release(slot, wire_parameters::kSerial, static_cast<std::uint32_t>(serial));
}

void CopiedTables::keep(const ThreadState& thread, const Call& copy) {
  namespace copied = wire_parameters::copied;
  constexpr std::uint64_t kLargest = 64u << 10, kPage = 4096, kWord = sizeof(std::uint64_t);
  constexpr std::size_t kHalf = copied::kSlots / 2;
  const bool from_host = copy.from_host && !copy.to_host && copy.destination % kWord == 0 && copy.rows == 1;
  if (slots_ == nullptr || !from_host || copy.argument == 0 || copy.argument > kLargest) return;
  const std::size_t bytes = std::min<std::size_t>(copy.argument, copied::kMostBytes);
  // The program may pass an address that cannot be read. The driver then refuses the copy.
  for (std::uint64_t at = copy.source; at < copy.source + bytes; at = (at / kPage + 1) * kPage) {
    if (!is_readable(at & ~(kWord - 1))) return;
  }
  const auto* source = reinterpret_cast<const std::byte*>(copy.source);
  const auto is_address = [source](std::size_t at) {
    std::uint64_t word;
    memcpy(&word, source + at, sizeof word);
    return word >> 32 != 0 && word >> 47 == 0;
  };
  std::size_t at = 0;
  while (at + kWord <= bytes && !is_address(at)) at += kWord;
  const std::size_t half = at + kWord <= bytes ? 0 : kHalf;
  std::byte* slot = slots_ + (half + wire::mix(wire::kHashSeed, copy.destination) % kHalf) * copied::kSlotSize;
  const LockGuard lock(mutex_);
  wire::store_release(slot, copied::kSerial, 0);
  std::atomic_thread_fence(std::memory_order_release);
  wire::store(slot, copied::kThread, thread.index);
  wire::store(slot, copied::kBytes, static_cast<std::uint32_t>(bytes));
  memcpy(slot + copied::kContents, source, bytes);
  wire::store_release(slot, copied::kSerial, thread.serial + 1);
}

namespace intern = wire::intern;

void LaunchArguments::attach(Interner& interner, const DriverApi& driver) {
  interner_ = &interner;
  driver_ = &driver;
}

// Tries both queries, because the program may have passed a CUkernel as a CUfunction. Each query rejects handles of the
// other type.
bool LaunchArguments::layout_of(CUfunction function, std::size_t parameter, std::size_t& offset,
                                std::size_t& size) const {
  if (driver_->func_get_param_info != nullptr &&
      driver_->func_get_param_info(function, parameter, &offset, &size) == CUDA_SUCCESS) {
    return true;
  }
  return driver_->kernel_get_param_info != nullptr &&
         driver_->kernel_get_param_info(reinterpret_cast<CUkernel>(function), parameter, &offset, &size) ==
             CUDA_SUCCESS;
}

bool LaunchArguments::add(std::size_t offset, const void* value, std::size_t size) {
  const std::size_t left = values_.size() - bytes_;
  if (count_ == kMostParameters || left == 0) {
    flags_ |= intern::kCut;
    return false;
  }
  if (size > left) flags_ |= intern::kCut;
  const std::size_t kept = size < left ? size : left;
  std::memcpy(values_.data() + bytes_, value, kept);
  head_.parameters[count_++] = {static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(kept)};
  bytes_ += (kept + 7) / 8 * 8;
  return kept == size;
}

// Reads the array `extra`: { POINTER, buffer, SIZE, &size, END }.
void LaunchArguments::read_buffer(CUfunction function, void* const* extra) {
  const std::byte* buffer = nullptr;
  std::size_t size = 0;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = static_cast<const std::byte*>(extra[1]);
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1] != nullptr)
      size = *static_cast<const std::size_t*>(extra[1]);
    if (extra[0] != CU_LAUNCH_PARAM_BUFFER_POINTER && extra[0] != CU_LAUNCH_PARAM_BUFFER_SIZE) return;
  }
  if (buffer == nullptr || size == 0) return;
  std::size_t at = 0, bytes = 0;
  for (std::size_t i = 0; layout_of(function, i, at, bytes); ++i) {
    if (at > size || bytes > size - at || !add(at, buffer + at, bytes)) return;
  }
  if (count_ > 0) return;
  flags_ |= intern::kBuffer;
  add(0, buffer, size);
}

void LaunchArguments::read(const Call& launch) {
  has_ = true;
  flags_ = 0;
  count_ = bytes_ = 0;
  const RelaxedCapture relaxed(*driver_);
  if (launch.parameters == nullptr) {
    if (launch.extra != nullptr) read_buffer(launch.function, launch.extra);
    return;
  }
  const bool can = driver_->func_get_param_info != nullptr || driver_->kernel_get_param_info != nullptr;
  if (!can && !noted_) {
    noted_ = true;
    interner_->note("arguments-not-read",
                    "the driver is too old to report kernel parameters (needs CUDA 12.4 or later)");
  }
  std::size_t offset = 0, size = 0;
  for (std::size_t i = 0; can && layout_of(launch.function, i, offset, size); ++i) {
    if (launch.parameters[i] == nullptr || !add(offset, launch.parameters[i], size)) return;
  }
}

void LaunchArguments::keep(std::uint16_t thread, std::uint64_t serial) {
  if (!has_ || count_ == 0) return;
  has_ = false;
  head_.serial = serial;
  head_.thread = thread;
  head_.flags = flags_;
  const auto* head = reinterpret_cast<const std::byte*>(&head_);
  interner_->arguments(static_cast<std::uint16_t>(count_), {head, 16 + 8 * count_}, {values_.data(), bytes_});
}

}  // namespace cudadiag::record
