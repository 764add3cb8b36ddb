// Lists the other processes on a GPU, using NVIDIA's management library (NVML). Only the launcher loads NVML, never the
// target.
#pragma once

#include <string>
#include <vector>

#include "session/session.h"

namespace cudadiag::launch {

// Returns the processes that use memory of the device with this PCI bus id; empty if NVML is missing or fails.
std::vector<session::GpuProcess> gpu_processes(const std::string& pci_bus_id);

}  // namespace cudadiag::launch
