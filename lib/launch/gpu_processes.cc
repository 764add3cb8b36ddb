#include "launch/gpu_processes.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>

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

bool has_mapped(pid_t process, const std::string& path) {
  std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(path) != std::string::npos) return true;
  }
  return false;
}

bool has_opened_gpu(pid_t process) {
  bool device = false, memory_manager = false;
  std::error_code error;
  std::filesystem::directory_iterator files("/proc/" + std::to_string(process) + "/fd", error), end;
  for (; !error && files != end; files.increment(error)) {
    std::error_code closed;
    // A process in another root folder has another path above /dev.
    const std::string target = std::filesystem::read_symlink(files->path(), closed).string();
    const std::size_t dev = target.rfind("/dev/");
    if (dev == std::string::npos) continue;
    const std::string name = target.substr(dev + 5);
    const bool is_whole = name == "dxg" || name == "nvmap";  // WSL2; Tegra
    device |= is_whole || (name.starts_with("nvidia") && name.size() > 6 && std::isdigit(name[6]) != 0);
    memory_manager |= is_whole || name == "nvidia-uvm";
  }
  return device && memory_manager && has_mapped(process, "/libcuda.so");
}

}  // namespace cudadiag::launch
