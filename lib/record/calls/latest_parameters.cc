#include "record/calls/latest_parameters.h"

#include <string.h>

#include <atomic>

#include "wire/intern.h"
#include "wire/launch_parameters.h"

namespace cudadiag::record {

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

void LatestParameters::attach(AreaMap& area, ParameterLayouts& layouts) {
  slots_ = area.region(wire::area::Region::parameters);
  layouts_ = &layouts;
}

void LatestParameters::keep(const ThreadState& thread, const Call& launch) {
  // The driver rejects an empty launch without reading its parameters, so the pointers to them may be invalid.
  const bool empty = launch.grid[0] == 0 || launch.grid[1] == 0 || launch.grid[2] == 0 || launch.block[0] == 0 ||
                     launch.block[1] == 0 || launch.block[2] == 0;
  if (thread.index >= wire_parameters::kThreads || empty) [[unlikely]]
    return;
  const std::uint64_t serial = thread.serial + 1;
  std::byte* slot =
      slots_ + (thread.index * wire_parameters::kSlots + serial % wire_parameters::kSlots) * wire_parameters::kSlotSize;
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

}  // namespace cudadiag::record
