// Finds the other processes on a GPU with NVIDIA's management library (NVML). Only the launcher calls NVML, never the
// target.
#pragma once

#include <string>
#include <vector>

#include "session/session.h"

namespace cudadiag::launch {

// Returns the processes that have memory on the device with this PCI bus id; empty if NVML is missing or fails.
std::vector<session::GpuProcess> gpu_processes(const std::string& pci_bus_id);

}  // namespace cudadiag::launch
