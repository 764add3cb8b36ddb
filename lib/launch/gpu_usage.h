// Facts about the GPUs of this machine: NVIDIA's management library (NVML), the descriptors of processes, and the
// daemon of MPS. Only the launcher loads NVML, never the target.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "session/session.h"

namespace cudadiag::launch {

// Returns the processes that use memory of the device with this PCI bus id; empty if NVML is missing or fails.
std::vector<session::GpuProcess> gpu_processes(const std::string& pci_bus_id);

// Returns whether MIG divides each GPU, in the order of nvidia-smi; nullopt for a GPU that does not support MIG. Empty
// if NVML is missing or fails.
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

// Returns whether /proc shows that the process has opened a GPU through the CUDA driver: it has mapped libcuda, and has
// open the files of a GPU and of its memory manager. A process that only links the driver, or that uses only NVML, does
// not count. Returns false if this process may not inspect it.
bool has_opened_gpu(pid_t process);
// Returns whether the process has mapped a file whose path contains this text.
bool has_mapped(pid_t process, const std::string& path);

// Returns the folder with the pipes of the MPS daemon, whether or not it exists.
std::filesystem::path mps_folder();

// Returns whether programs that this process starts may share a GPU through MPS: a daemon listens in mps_folder(), or a
// variable such as CUDA_MPS_ACTIVE_THREAD_PERCENTAGE configures them as its clients. A fault under MPS can end all
// programs on the GPU, so the result is false only if nothing points to MPS.
bool may_use_mps();

}  // namespace cudadiag::launch
