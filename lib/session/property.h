// Facts about a process, each recorded once. The recorder stores their keys and values as text.
#pragma once

#include <cstdint>
#include <string>

#include "session/process_record.h"

namespace cudadiag::session {

enum class Property : std::uint8_t {
  argv,       // command-line arguments, each terminated by a NUL
  core_dump,  // see wire/names/core_dump.h
  cuda,       // version of the driver's API
  cupti,
  cupti_path,
  cwd,
  exe,
  flight_recorder,  // path of PyTorch's Flight Recorder dumps, without the rank number
  forked_at,        // id of the site that forked last
  forked_from,      // "4711 12": pid of the parent, and id of the site in the parent
  host,
  late_launch_blocking,  // value of CUDA_LAUNCH_BLOCKING that was set after CUDA had started
  launch_blocking,       // value of CUDA_LAUNCH_BLOCKING
  left_at_work,          // pids of processes that were working when this one ended
  mps,
  python,  // version
  python_hook,
  rank,
  visible_devices,  // value of CUDA_VISIBLE_DEVICES
  watched_by,       // "hooks" or "cupti"
};

bool has(const ProcessRecord& record, Property property);
const std::string& value_of(const ProcessRecord& record, Property property);

// Returns whether the driver was to write a GPU core dump of the process at the first failure, but has written none.
bool awaited_core_dump(const ProcessRecord& record);
bool left_core_dump(const ProcessRecord& record);
// Returns whether the driver has written a GPU core dump of the process because someone requested it.
bool left_requested_dump(const ProcessRecord& record);

// Return the PCI bus id and the name of a device, or "" if the process did not record it. `device` is the process's
// own number for the device.
const std::string& pci_bus_id(const ProcessRecord& record, std::size_t device);
const std::string& device_name(const ProcessRecord& record, std::size_t device);

}  // namespace cudadiag::session
