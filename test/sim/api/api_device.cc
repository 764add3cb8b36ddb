// The driver itself and its devices.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "api/api.h"
#include "launch.h"
#include "names.h"

using sim::Gpu;

namespace {

// Appends a byte to the file named by CUDADIAG_SIM_RUNS. Returns the size of the file, which is the number of this run;
// 1 without a file.
std::uint64_t count_run() {
  const char* path = std::getenv("CUDADIAG_SIM_RUNS");
  std::FILE* file = path ? std::fopen(path, "a") : nullptr;
  if (!file) return 1;
  std::fputc('.', file);
  const long size = std::ftell(file);
  std::fclose(file);
  return size > 0 ? static_cast<std::uint64_t>(size) : 1;
}

CUresult take_plan(Gpu& gpu) {
  const char* text = std::getenv("CUDADIAG_SIM_PLAN");
  if (const std::string wrong = gpu.plan.parse(text ? text : "", count_run()); !wrong.empty()) {
    std::fprintf(stderr, "simulated CUDA driver: CUDADIAG_SIM_PLAN: %s\n", wrong.c_str());
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (gpu.plan.memory() > 0) gpu.memory.set_total(gpu.plan.memory());
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) gpu.plan.show_only(visible);
  for (int i = 0; i < gpu.plan.devices(); ++i) gpu.primary.push_back(std::make_unique<CUctx_st>());
  return gpu.plan.devices() > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

// Opens files that stand in for those of a GPU, as a real driver opens /dev/nvidia0 and /dev/nvidia-uvm. Uses high
// numbers, so that programs with few descriptors run as before. Gpu::start_context() maps one.
void open_devices() {
  Dl_info self{};
  dladdr(reinterpret_cast<void*>(&cuInit), &self);
  const std::string path = self.dli_fname;
  for (const char* device : {"dev/nvidia0", "dev/nvidia-uvm"}) {
    const int file = open((path.substr(0, path.rfind('/') + 1) + device).c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) continue;
    constexpr int kHigh = 900;
    Gpu::instance().memory_manager = fcntl(file, F_DUPFD_CLOEXEC, kHigh);  // the latest file
    close(file);
  }
}

void load_injection() {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  if (!path || !*path || !Gpu::instance().plan.loads_injection()) return;
  void* library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    std::fprintf(stderr, "simulated CUDA driver: injection: %s\n", dlerror());
    return;
  }
  if (auto initialize = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"))) initialize();
}

CUresult initialize() {
  static std::recursive_mutex mutex;  // the injected library may call cuInit again
  static bool begun = false;
  static CUresult result = CUDA_SUCCESS;
  std::lock_guard lock(mutex);
  if (std::exchange(begun, true)) return result;
  result = take_plan(Gpu::instance());
  if (result != CUDA_SUCCESS) return result;
  sim::set_driver_ready(true);
  open_devices();
  std::this_thread::sleep_for(Gpu::instance().plan.start());
  load_injection();
  return result;
}

bool known(CUdevice device) { return device >= 0 && device < Gpu::instance().plan.devices(); }

}  // namespace

SIM_API(cuInit, nothing, (unsigned int Flags), (Flags)) { return Flags == 0 ? initialize() : CUDA_ERROR_INVALID_VALUE; }

namespace {

std::atomic<CUlogsCallback> log_callback{nullptr};
std::atomic<void*> log_data{nullptr};

}  // namespace

void sim::log(std::string message) {
  if (CUlogsCallback callback = log_callback) callback(log_data, CU_LOG_LEVEL_ERROR, message.data(), message.size());
}

// No CUPTI callback reports this call.
extern "C" CUresult CUDAAPI cuLogsRegisterCallback(CUlogsCallback callback, void* data, CUlogsCallbackHandle* out) {
  log_data = data;
  log_callback = callback;
  *out = nullptr;
  return CUDA_SUCCESS;
}

// With an injection library, the driver accepts the core dump settings, but writes no dumps.
extern "C" CUresult CUDAAPI cuCoredumpSetAttributeGlobal(CUcoredumpSettings setting, void* value, size_t* size) {
  Gpu& gpu = Gpu::instance();
  std::lock_guard lock(gpu.mutex);
  if (setting == CU_COREDUMP_FILE) gpu.core_dump.file.assign(static_cast<const char*>(value), *size - 1);
  if (setting == CU_COREDUMP_PIPE) gpu.core_dump.pipe.assign(static_cast<const char*>(value), *size - 1);
  const bool injected = std::getenv("CUDA_INJECTION64_PATH") != nullptr;
  if (setting == CU_COREDUMP_ENABLE_ON_EXCEPTION) gpu.core_dump.enabled = *static_cast<const bool*>(value) && !injected;
  // On an H200 with driver 580, requests also enable dumps at exceptions.
  if (setting == CU_COREDUMP_ENABLE_USER_TRIGGER && *static_cast<const bool*>(value) && !injected) {
    gpu.core_dump.enabled = gpu.core_dump.on_request = true;
  }
  return CUDA_SUCCESS;
}

// CUDA has this function since version 13.2.
extern "C" CUresult CUDAAPI cuCoredumpRegisterCompleteCallback(void (*callback)(void*, int, CUdevice), void* data,
                                                               void** out) {
  Gpu& gpu = Gpu::instance();
  std::lock_guard lock(gpu.mutex);
  if (!gpu.plan.reports_dumps()) return CUDA_ERROR_NOT_SUPPORTED;
  gpu.core_dump.complete = callback;
  gpu.core_dump.data = data;
  *out = nullptr;
  return CUDA_SUCCESS;
}

SIM_API(cuDriverGetVersion, nothing, (int* driverVersion), (driverVersion)) {
  *driverVersion = CUDA_VERSION;
  return CUDA_SUCCESS;
}

SIM_API(cuDeviceGet, driver, (CUdevice * device, int ordinal), (device, ordinal)) {
  if (!known(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

SIM_API(cuDeviceGetCount, driver, (int* count), (count)) {
  *count = Gpu::instance().plan.devices();
  return CUDA_SUCCESS;
}

SIM_API(cuDeviceGetName, driver, (char* name, int len, CUdevice dev), (name, len, dev)) {
  if (!known(dev) || len <= 0) return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(name, static_cast<std::size_t>(len), "Simulated GPU (no hardware)");
  return CUDA_SUCCESS;
}

SIM_API(cuDeviceGetPCIBusId, driver, (char* pciBusId, int len, CUdevice dev), (pciBusId, len, dev)) {
  if (!known(dev) || len <= 0) return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(pciBusId, static_cast<std::size_t>(len), "0000:%02x:00.0", Gpu::instance().plan.hardware_of(dev) + 1);
  return CUDA_SUCCESS;
}

SIM_API(cuDeviceGetByPCIBusId, driver, (CUdevice * dev, const char* pciBusId), (dev, pciBusId)) {
  for (int device = 0; known(device); ++device) {
    char bus[16];
    cuDeviceGetPCIBusId(bus, sizeof bus, device);
    if (std::string_view(bus) != pciBusId) continue;
    *dev = device;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_DEVICE;
}

SIM_API(cuDeviceTotalMem_v2, driver, (std::size_t * bytes, CUdevice dev), (bytes, dev)) {
  if (!known(dev)) return CUDA_ERROR_INVALID_DEVICE;
  *bytes = Gpu::instance().memory.total();
  return CUDA_SUCCESS;
}

static CUresult device_uuid(CUuuid* uuid, CUdevice dev) {
  if (!known(dev)) return CUDA_ERROR_INVALID_DEVICE;
  std::memcpy(uuid->bytes, "simulated gpu 0", sizeof uuid->bytes);
  uuid->bytes[14] = static_cast<char>('0' + dev);
  return CUDA_SUCCESS;
}

SIM_API(cuDeviceGetUuid, driver, (CUuuid * uuid, CUdevice dev), (uuid, dev)) { return device_uuid(uuid, dev); }
SIM_API(cuDeviceGetUuid_v2, driver, (CUuuid * uuid, CUdevice dev), (uuid, dev)) { return device_uuid(uuid, dev); }

SIM_API(cuDeviceGetAttribute, driver, (int* pi, CUdevice_attribute attrib, CUdevice dev), (pi, attrib, dev)) {
  if (!known(dev)) return CUDA_ERROR_INVALID_DEVICE;
  switch (attrib) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *pi = 9;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *pi = 1024;
      break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      *pi = 32;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
    case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
      *pi = 1;
      break;
    case CU_DEVICE_ATTRIBUTE_MPS_ENABLED:
      *pi = Gpu::instance().plan.shared();
      break;
    default:
      *pi = 0;
  }
  return CUDA_SUCCESS;
}

SIM_API(cuGetErrorName, nothing, (CUresult error, const char** pStr), (error, pStr)) {
  *pStr = sim::name_in(sim::kDriverErrors, error);
  return *pStr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM_API(cuGetErrorString, nothing, (CUresult error, const char** pStr), (error, pStr)) {
  *pStr = sim::error_text(error);
  return *pStr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Looks the name up among our own exports: the newest version first, and the per-thread variant if requested.
SIM_API(cuGetProcAddress_v2, nothing,
        (const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags,
         CUdriverProcAddressQueryResult* symbolStatus),
        (symbol, pfn, cudaVersion, flags, symbolStatus)) {
  static_cast<void>(cudaVersion);
  Dl_info self{};
  dladdr(reinterpret_cast<void*>(&cuInit), &self);
  void* library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  const bool per_thread = flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  *pfn = nullptr;
  for (const char* version : {"_v4", "_v3", "_v2", ""}) {
    const std::string name = std::string(symbol) + version;
    for (const char* suffix : {"_ptsz", "_ptds"}) {
      if (per_thread && !*pfn) *pfn = dlsym(library, (name + suffix).c_str());
    }
    if (!*pfn) *pfn = dlsym(library, name.c_str());
    if (*pfn) break;
  }
  dlclose(library);
  if (symbolStatus) *symbolStatus = *pfn ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *pfn ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
