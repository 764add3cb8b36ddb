// The simulated libnvidia-ml. CUDADIAG_SIM_GPU_PROCESS gives the pid and the bytes of another process that uses the
// first device, such as "4800:104857600". If the variable is unset, no other process uses the device. CUDADIAG_SIM_MIG
// gives the MIG mode of each device as 0, 1 or - (not supported), such as "10-"; by default, there is one device with
// mode 0. CUDADIAG_SIM_XID gives the Xid of the only event of the first device, which occurs at once; by default, there
// is none.
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {

struct nvmlProcess {
  unsigned int pid;
  unsigned long long bytes;
  unsigned int gpu_instance, compute_instance;
};

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) {
  static char first;
  *device = &first;
  return std::strcmp(bus_id, "0000:01:00.0") == 0 ? 0 : 6;
}

static const char* mig_modes() {
  const char* modes = std::getenv("CUDADIAG_SIM_MIG");
  return modes == nullptr ? "0" : modes;
}

int nvmlDeviceGetCount_v2(unsigned int* count) {
  *count = static_cast<unsigned int>(std::strlen(mig_modes()));
  return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void** device) {
  *device = const_cast<char*>(mig_modes() + index);
  return 0;
}

int nvmlDeviceGetMigMode(void* device, unsigned int* current, unsigned int* pending) {
  const char mode = *static_cast<char*>(device);
  *current = *pending = mode == '1' ? 1 : 0;
  return mode == '-' ? 3 : 0;
}

int nvmlEventSetCreate(void** set) {
  static int xid;
  const char* text = std::getenv("CUDADIAG_SIM_XID");
  xid = text == nullptr ? 0 : std::atoi(text);
  *set = &xid;
  return 0;
}

int nvmlDeviceRegisterEvents(void*, unsigned long long, void*) { return 0; }

struct nvmlEvent {
  void* device;
  unsigned long long type, data;
  unsigned int gpu_instance, compute_instance;
};

int nvmlEventSetWait_v2(void* set, nvmlEvent* event, unsigned int) {
  int& xid = *static_cast<int*>(set);
  if (xid == 0) return 10;  // timeout
  *event = {nullptr, 8, static_cast<unsigned long long>(xid), ~0u, ~0u};
  xid = 0;
  return 0;
}

struct nvmlPci {
  char legacy_bus_id[16];
  unsigned int domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};

int nvmlDeviceGetPciInfo_v3(void*, nvmlPci* pci) {
  std::strcpy(pci->bus_id, "00000000:01:00.0");
  return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned int* count, nvmlProcess* processes) {
  const char* text = std::getenv("CUDADIAG_SIM_GPU_PROCESS");
  nvmlProcess only{};
  *count = text != nullptr && std::sscanf(text, "%u:%llu", &only.pid, &only.bytes) == 2 ? 1 : 0;
  if (*count == 1) processes[0] = only;
  return 0;
}
}
