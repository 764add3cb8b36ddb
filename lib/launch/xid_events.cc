#include "launch/xid_events.h"

#include <dlfcn.h>

#include <chrono>
#include <future>

#include "launch/optional_thread.h"

namespace cudadiag::launch {
namespace {

// NVML's stable names and layouts. Declared here, because no build dependency provides nvml.h.
struct NvmlEvent {
  void* device;
  unsigned long long type, data;
  unsigned int gpu_instance, compute_instance;
};
struct NvmlPci {
  char legacy_bus_id[16];
  unsigned int domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
constexpr unsigned long long kXid = 8;

template <typename Function>
bool resolve(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
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

struct XidEvents::Listener {
  // Returns whether events are received.
  bool start() {
    void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*init)() = nullptr;
    int (*create)(void**) = nullptr;
    int (*count_devices)(unsigned int*) = nullptr;
    int (*by_index)(unsigned int, void**) = nullptr;
    int (*listen)(void*, unsigned long long, void*) = nullptr;
    const bool has_all =
        library != nullptr && resolve(library, init, "nvmlInit_v2") && resolve(library, create, "nvmlEventSetCreate") &&
        resolve(library, count_devices, "nvmlDeviceGetCount_v2") &&
        resolve(library, by_index, "nvmlDeviceGetHandleByIndex_v2") &&
        resolve(library, listen, "nvmlDeviceRegisterEvents") && resolve(library, wait, "nvmlEventSetWait_v2") &&
        resolve(library, place, "nvmlDeviceGetPciInfo_v3");
    unsigned int count = 0;
    if (!has_all || init() != 0 || create(&events) != 0 || count_devices(&count) != 0) return false;
    bool any = false;
    for (unsigned int i = 0; i < count; ++i) {
      void* device = nullptr;
      any = (by_index(i, &device) == 0 && listen(device, kXid, events) == 0) || any;
    }
    return any;
  }

  void* events = nullptr;
  int (*wait)(void*, NvmlEvent*, unsigned int) = nullptr;
  int (*place)(void*, NvmlPci*) = nullptr;
  std::promise<bool> started;
  std::future<bool> receives = started.get_future();
};

XidEvents::XidEvents() : listener_(std::make_shared<Listener>()) {
  // If NVML does not return, the thread keeps the listener.
  std::thread thread = optional_thread([listener = listener_] { listener->started.set_value(listener->start()); });
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

}  // namespace cudadiag::launch
