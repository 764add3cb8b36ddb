// NVIDIA's management library (NVML): the processes and the MIG mode of GPUs, and the errors that NVIDIA's kernel driver
// reports (Xids). Only the launcher loads NVML, never the target.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "session/session.h"

namespace cudadiag::launch {

// Returns the processes that use memory of the device with this PCI bus id; empty if NVML is missing or fails.
std::vector<session::GpuProcess> gpu_processes(const std::string& pci_bus_id);

// Returns whether MIG divides each GPU, in the order of nvidia-smi; nullopt for a GPU that does not support MIG. Empty if
// NVML is missing or fails.
std::vector<std::optional<bool>> mig_modes();

// Receives the Xids of the machine's GPUs. If NVML is missing or grants no right to receive events, there are none.
class XidEvents {
 public:
  // Starts to listen, on a separate thread, because NVML may take long to start.
  XidEvents();
  XidEvents(const XidEvents&) = delete;
  XidEvents& operator=(const XidEvents&) = delete;
  ~XidEvents();

  // Returns a sentence for each event since the last call. An event does not name the process that caused it.
  std::vector<std::string> take();

 private:
  struct Listener;
  std::shared_ptr<Listener> listener_;
  std::optional<bool> receives_;  // nullopt until NVML has started
};

}  // namespace cudadiag::launch
