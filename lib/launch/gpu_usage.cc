#include "launch/gpu_usage.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <future>
#include <string_view>

#include "base/files.h"
#include "base/processes.h"

namespace cudadiag::launch {

// NVML's stable names and layouts. Declared here, because no build dependency provides nvml.h. GCC 16.2 crashes if the
// unnamed namespace has them, because XidEvents::Listener has pointers to functions with these types.
using NvmlDevice = void*;
struct NvmlProcess {
  unsigned int pid;
  unsigned long long bytes;
  unsigned int gpu_instance, compute_instance;
};
struct NvmlEvent {
  NvmlDevice device;
  unsigned long long type, data;
  unsigned int gpu_instance, compute_instance;
};
struct NvmlPci {
  char legacy_bus_id[16];
  unsigned int domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};

namespace {

constexpr const char* kLibrary = "libnvidia-ml.so.1";
constexpr unsigned long long kNotAvailable = ~0ull;
constexpr unsigned long long kXid = 8;  // a type of event

// Returns true if this process is in the host's pid namespace. NVML reports the host's pids, which refer to different
// processes in a container.
bool counts_as_the_host() {
  std::array<char, 64> name{};
  const ssize_t size = ::readlink("/proc/self/ns/pid", name.data(), name.size() - 1);
  return size > 0 && std::string(name.data()) == "pid:[4026531836]";  // the kernel's number for the initial pid
                                                                      // namespace
}

std::string process_name_of(unsigned int pid) { return counts_as_the_host() ? base::process_name(pid) : ""; }

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
    found.push_back({pci_bus_id, process.pid, process_name_of(process.pid), process.bytes});
  }
  return found;
}

// Calls `visit` with each GPU, which is null if NVML has none for its number.
template <typename Visit>
void each_device(void* library, Visit visit) {
  const auto count_devices = entry<int(unsigned int*)>(library, "nvmlDeviceGetCount_v2");
  const auto by_index = entry<int(unsigned int, NvmlDevice*)>(library, "nvmlDeviceGetHandleByIndex_v2");
  unsigned int count = 0;
  if (count_devices == nullptr || by_index == nullptr || count_devices(&count) != 0) return;
  for (unsigned int i = 0; i < count; ++i) {
    NvmlDevice device = nullptr;
    visit(by_index(i, &device) == 0 ? device : nullptr);
  }
}

std::vector<std::optional<bool>> ask_for_mig(void* library) {
  const auto mode = entry<int(NvmlDevice, unsigned int*, unsigned int*)>(library, "nvmlDeviceGetMigMode");
  std::vector<std::optional<bool>> modes;
  if (mode == nullptr) return modes;
  each_device(library, [&](NvmlDevice device) {
    unsigned int current = 0, pending = 0;
    const bool known = device != nullptr && mode(device, &current, &pending) == 0;
    modes.push_back(known ? std::optional(current != 0) : std::nullopt);
  });
  return modes;
}

// Calls `ask` while NVML is initialised.
template <typename Ask>
auto with_nvml(Ask ask) -> decltype(ask(nullptr)) {
  void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {};
  const auto start = entry<int()>(library, "nvmlInit_v2");
  const auto stop = entry<int()>(library, "nvmlShutdown");
  if (start == nullptr || stop == nullptr || start() != 0) return {};
  auto found = ask(library);
  stop();
  return found;
}

// Returns the meaning of the Xids that say whether the program or the machine is at fault.
std::string meaning(unsigned long long xid) {
  switch (xid) {
    case 13:
      return " (exception in a kernel)";
    case 31:
      return " (bad address in a kernel)";
    case 43:
      return " (the driver ended the work of a program)";
    case 48:
    case 94:
    case 95:
      return " (uncorrectable memory error of the GPU)";
    case 63:
    case 64:
      return " (the GPU replaces faulty memory)";
    case 74:
      return " (NVLink error)";
    case 79:
      return " (the GPU has fallen off the bus)";
    case 119:
    case 120:
      return " (the GPU's system processor does not answer)";
    default:
      return "";
  }
}

}  // namespace

std::vector<session::GpuProcess> gpu_processes(const std::string& pci_bus_id) {
  return with_nvml([&](void* library) { return ask(library, pci_bus_id); });
}

std::vector<std::optional<bool>> mig_modes() { return with_nvml(ask_for_mig); }

struct XidEvents::Listener {
  // Returns whether events are received.
  bool start() {
    void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return false;
    const auto init = entry<int()>(library, "nvmlInit_v2");
    const auto create = entry<int(void**)>(library, "nvmlEventSetCreate");
    const auto listen = entry<int(NvmlDevice, unsigned long long, void*)>(library, "nvmlDeviceRegisterEvents");
    wait = entry<int(void*, NvmlEvent*, unsigned int)>(library, "nvmlEventSetWait_v2");
    place = entry<int(NvmlDevice, NvmlPci*)>(library, "nvmlDeviceGetPciInfo_v3");
    const bool has_all =
        init != nullptr && create != nullptr && listen != nullptr && wait != nullptr && place != nullptr;
    if (!has_all || init() != 0 || create(&events) != 0) return false;
    bool any = false;
    each_device(library,
                [&](NvmlDevice device) { any = (device != nullptr && listen(device, kXid, events) == 0) || any; });
    return any;
  }

  void* events = nullptr;
  int (*wait)(void*, NvmlEvent*, unsigned int) = nullptr;
  int (*place)(NvmlDevice, NvmlPci*) = nullptr;
  std::promise<bool> started;
  std::future<bool> receives = started.get_future();
};

XidEvents::XidEvents() : listener_(std::make_shared<Listener>()) {
  // If NVML does not return, the thread keeps the listener.
  std::thread thread =
      base::optional_thread([listener = listener_] { listener->started.set_value(listener->start()); });
  if (thread.joinable()) thread.detach();
}

XidEvents::~XidEvents() = default;

std::vector<std::string> XidEvents::take() {
  constexpr int kMost = 16;
  std::vector<std::string> sentences;
  if (!receives_) {
    constexpr std::chrono::seconds kPatience{2};
    const bool started = listener_->receives.wait_for(kPatience) == std::future_status::ready;
    receives_ = started && listener_->receives.get();
  }
  if (!*receives_) return {};
  NvmlEvent event{};
  for (int i = 0; i < kMost && listener_->wait(listener_->events, &event, 0) == 0; ++i) {
    NvmlPci pci{};
    const bool known = listener_->place(event.device, &pci) == 0;
    pci.bus_id[sizeof pci.bus_id - 1] = '\0';
    std::string sentence = "NVIDIA's kernel driver reported Xid " + std::to_string(event.data) + meaning(event.data);
    if (known) sentence += std::string(" for the GPU ") + pci.bus_id;
    sentences.push_back(sentence + " during this run, for this or another program");
  }
  return sentences;
}

namespace {

// Returns false only if the kernel confirms that no process listens. A daemon that was killed leaves its socket behind.
// The daemon does not notice the attempt: it accepts no datagrams, so the kernel answers EPROTOTYPE for it.
bool has_listener(const std::filesystem::path& control) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& path = control.native();
  if (path.size() >= sizeof address.sun_path) return true;
  path.copy(address.sun_path, path.size());
  const base::FileDescriptor own(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!own.valid()) return true;
  return ::connect(own.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
         errno != ECONNREFUSED;
}

bool has_daemon(const std::filesystem::path& control) {
  struct stat status {};
  if (::stat(control.c_str(), &status) != 0) return errno != ENOENT && errno != ENOTDIR;
  if (S_ISSOCK(status.st_mode)) return has_listener(control);
  if (!S_ISFIFO(status.st_mode)) return false;
  const base::FileDescriptor pipe(::open(control.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC));
  return pipe.valid() || errno != ENXIO;
}

// The variables of folders do not count: they also tell programs to use no daemon, as in
// CUDA_MPS_PIPE_DIRECTORY=/dev/null.
bool configures_clients(std::string_view variable) {
  const std::string_view name = variable.substr(0, variable.find('='));
  return name.starts_with("CUDA_MPS_") && !name.ends_with("_DIRECTORY") && variable.size() > name.size() + 1;
}

}  // namespace

std::filesystem::path mps_folder() {
  const char* given = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  return given != nullptr && *given == '/' ? given : "/tmp/nvidia-mps";
}

bool may_use_mps() {
  if (has_daemon(mps_folder() / "control")) return true;
  return std::ranges::any_of(base::own_environment(), configures_clients);
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
