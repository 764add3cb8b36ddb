// The other processes on a GPU, from NVIDIA's management library (NVML). It is asked here, never inside the target.
#pragma once

#include <string>
#include <vector>

#include "session/session.h"

namespace cudadiag::launch {

// Processes with memory on the device of this PCI bus id; none if there is no NVML, or it does not say.
std::vector<session::GpuProcess> gpu_processes(const std::string& pci_bus_id);

}  // namespace cudadiag::launch
