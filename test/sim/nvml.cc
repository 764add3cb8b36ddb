// The simulated libnvidia-ml. CUDADIAG_SIM_GPU_PROCESS gives the pid and the bytes of another process that uses the
// first device, such as "4800:104857600". If the variable is unset, no other process uses the device.
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

int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned int* count, nvmlProcess* processes) {
  const char* text = std::getenv("CUDADIAG_SIM_GPU_PROCESS");
  nvmlProcess only{};
  *count = text != nullptr && std::sscanf(text, "%u:%llu", &only.pid, &only.bytes) == 2 ? 1 : 0;
  if (*count == 1) processes[0] = only;
  return 0;
}
}
