// The offset and size of each parameter of a kernel. The recorder queries the driver once per kernel and stores the
// result in the area, for readers of the parameters. The format is in wire/launch_parameters.h.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "record/cupti/driver_api.h"
#include "record/lock.h"
#include "record/output/area_map.h"
#include "record/output/id_table.h"

namespace cudadiag::record {

struct ParameterLayout {
  std::uint32_t index = 0;  // in the region `layouts`; 0 if unknown
  std::uint16_t count = 0;
  const std::uint16_t* places = nullptr;  // offset and size of each parameter

  std::size_t offset(std::size_t parameter) const { return places[2 * parameter]; }
  std::size_t size(std::size_t parameter) const { return places[2 * parameter + 1]; }
  std::size_t end() const { return count == 0 ? 0 : offset(count - 1u) + size(count - 1u); }
};

class ParameterLayouts {
 public:
  void attach(AreaMap& area, const DriverApi& driver);
  // Forgets all layouts, because the driver may reuse kernel handles for different kernels.
  void module_unloaded() { generation_.fetch_add(1, std::memory_order_relaxed); }

  ParameterLayout of(CUfunction function);

 private:
  std::uint32_t ask(CUfunction function);

  const DriverApi* driver_ = nullptr;
  std::uint16_t* pool_ = nullptr;  // the region `layouts`; index 0 means unknown
  std::atomic<std::uint64_t> generation_ = 0;
  Mutex mutex_;
  std::uint32_t used_ = 1;
  IdTable<32768> known_;
};

// The memory block that holds all parameters of a launch with CU_LAUNCH_PARAM_BUFFER_POINTER.
struct ParameterBuffer {
  const void* bytes = nullptr;
  std::size_t size = 0;
};
ParameterBuffer parameter_buffer(void* const* extra);

}  // namespace cudadiag::record
