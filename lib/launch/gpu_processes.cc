#include "launch/gpu_processes.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>

#include "base/processes.h"

namespace cudadiag::launch {
namespace {

// NVML's stable names and layouts. Declared here, because no build dependency provides nvml.h.
struct NvmlProcess {
  unsigned int pid;
  unsigned long long bytes;
  unsigned int gpu_instance, compute_instance;
};
using NvmlDevice = void*;
constexpr unsigned long long kNotAvailable = ~0ull;

// Returns true if this process is in the host's pid namespace. NVML reports the host's pids, which refer to different
// processes in a container.
bool counts_as_the_host() {
  std::array<char, 64> name{};
  const ssize_t size = ::readlink("/proc/self/ns/pid", name.data(), name.size() - 1);
  return size > 0 && std::string(name.data()) == "pid:[4026531836]";  // the kernel's number for the initial pid
                                                                      // namespace
}

std::string name_of(unsigned int pid) { return counts_as_the_host() ? base::process_name(pid) : ""; }

template <typename Function>
Function* entry(void* library, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

std::vector<session::GpuProcess> ask(void* library, const std::string& pci_bus_id) {
  const auto by_bus_id = entry<int(const char*, NvmlDevice*)>(library, "nvmlDeviceGetHandleByPciBusId_v2");
  const auto running =
      entry<int(NvmlDevice, unsigned int*, NvmlProcess*)>(library, "nvmlDeviceGetComputeRunningProcesses_v3");
  std::vector<session::GpuProcess> found;
  NvmlDevice device = nullptr;
  std::array<NvmlProcess, 256> processes{};
  unsigned int count = processes.size();
  if (by_bus_id == nullptr || running == nullptr || by_bus_id(pci_bus_id.c_str(), &device) != 0 ||
      running(device, &count, processes.data()) != 0) {
    return found;
  }
  for (unsigned int i = 0; i < count && i < processes.size(); ++i) {
    const NvmlProcess& process = processes[i];
    if (process.bytes == 0 || process.bytes == kNotAvailable) continue;
    found.push_back({pci_bus_id, process.pid, name_of(process.pid), process.bytes});
  }
  return found;
}

}  // namespace

std::vector<session::GpuProcess> gpu_processes(const std::string& pci_bus_id) {
  void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {};
  const auto start = entry<int()>(library, "nvmlInit_v2");
  const auto stop = entry<int()>(library, "nvmlShutdown");
  if (start == nullptr || stop == nullptr || start() != 0) return {};
  std::vector<session::GpuProcess> found = ask(library, pci_bus_id);
  stop();
  return found;
}

}  // namespace cudadiag::launch
