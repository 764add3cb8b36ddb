// The simulated libcudart: a thin layer over the driver, which it calls through the driver's exports. RUNTIME_VERSION
// is 13000 or 12080. Version 12080 rejects impossible launches without calling the driver.
#include <cuda_runtime_api.h>
//
#include <generated_cuda_runtime_api_meta.h>
//
#include <cupti_runtime_cbid.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "hooks.h"
#include "names.h"

namespace {

std::atomic<std::uint32_t> resets{0};  // number of resets; each destroys all earlier contexts
thread_local cudaError_t last_error = cudaSuccess;
thread_local int device = 0;
thread_local int bound_device = -1;
thread_local std::uint32_t bound_after = 0;

// Guards two tables: the kernel name of each host stub, and the driver functions of each context.
std::mutex kernels_mutex;
std::map<const void*, std::string>& kernel_names() {
  static auto& names = *new std::map<const void*, std::string>;
  return names;
}

struct Call {
  CUpti_CallbackId id;
  const char* name;
};

cudaError_t code(CUresult result) { return static_cast<cudaError_t>(result); }

// Looks up driver functions, including one that the driver lacks. Real runtimes look up their functions before their
// own cuInit.
void look_up_driver() {
  const auto look_up = [](const char* name, int version) {
    void* function = nullptr;
    cuGetProcAddress_v2(name, &function, version, CU_GET_PROC_ADDRESS_DEFAULT, nullptr);
  };
  look_up("cuInit", 2000);
  for (int i = 0; i < 200; ++i) look_up("cuLaunchKernel", 4000);
  look_up("cuSimulatedNewest", RUNTIME_VERSION);
}

CUresult initialize() {
  static std::once_flag once;
  std::call_once(once, look_up_driver);
  return cuInit(0);
}

// Makes the device's primary context current, as the first runtime call of a thread does.
CUresult bind() {
  if (bound_device == device && bound_after == resets) return CUDA_SUCCESS;
  CUcontext context = nullptr;
  if (const CUresult result = initialize(); result != CUDA_SUCCESS) return result;
  if (const CUresult result = cuDevicePrimaryCtxRetain(&context, device); result != CUDA_SUCCESS) return result;
  bound_device = device;
  bound_after = resets;
  return cuCtxSetCurrent(context);
}

CUresult find(const void* stub, CUfunction* function) {
  static auto& modules = *new std::map<std::uint32_t, CUmodule>;
  static auto& functions = *new std::map<std::pair<std::uint32_t, const void*>, CUfunction>;
  CUcontext context = nullptr;
  std::uint32_t uid = 0;
  sim_current_context(&context, &uid);
  std::lock_guard lock(kernels_mutex);
  CUfunction& known = functions[{uid, stub}];
  if (!known) {
    const auto name = kernel_names().find(stub);
    if (name == kernel_names().end()) return static_cast<CUresult>(cudaErrorInvalidDeviceFunction);
    CUmodule& module = modules[uid];
    static auto& refused = *new std::map<std::uint32_t, CUresult>;
    if (refused.count(uid) != 0) return refused[uid];
    if (!module) {
      const CUresult result = cuModuleLoadData(&module, "simulated module");
      if (result != CUDA_SUCCESS) return refused[uid] = result;  // never tried again
    }
    const CUresult result = cuModuleGetFunction(&known, module, name->second.c_str());
    if (result != CUDA_SUCCESS) return result;
  }
  *function = known;
  return CUDA_SUCCESS;
}

const char* symbol_of(const void* stub) {
  std::lock_guard lock(kernels_mutex);
  const auto name = kernel_names().find(stub);
  return name == kernel_names().end() ? nullptr : name->second.c_str();
}

void deliver(const Call& call, CUpti_CallbackData& data, CUpti_ApiCallbackSite site) {
  data.callbackSite = site;
  sim_current_context(&data.context, &data.contextUid);
  if (CUpti_CallbackFunc callback = sim_hooks()->callback) {
    callback(sim_hooks()->user_data, CUPTI_CB_DOMAIN_RUNTIME_API, call.id, &data);
  }
}

template <typename Body>
cudaError_t traced(const Call& call, const void* params, const void* stub, Body body) {
  // Driver calls made inside this call carry its correlation id.
  const std::uint32_t outer = std::exchange(*sim_runtime_correlation(), sim_next_correlation());
  const bool wanted = sim_hooks()->runtime[call.id].load(std::memory_order_relaxed);
  std::uint64_t shared = 0;
  CUpti_CallbackData data{};
  data.functionName = call.name;
  data.functionParams = params;
  data.symbolName = wanted && stub ? symbol_of(stub) : nullptr;
  data.correlationData = &shared;
  data.correlationId = *sim_runtime_correlation();
  if (wanted) deliver(call, data, CUPTI_API_ENTER);
  cudaError_t result = body();
  if (result != cudaSuccess && result != cudaErrorNotReady) last_error = result;
  data.functionReturnValue = &result;
  if (wanted) deliver(call, data, CUPTI_API_EXIT);
  *sim_runtime_correlation() = outer;
  return result;
}

template <typename Body>
cudaError_t bound(Body body) {
  const CUresult result = bind();
  return code(result == CUDA_SUCCESS ? body() : result);
}

CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

// A separate function, because in real runtimes, the function that the program calls does not call the driver itself.
[[gnu::noinline]] cudaError_t launch(const void* stub, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                                     cudaStream_t stream) {
  // Before 13.0, the runtime itself rejects an impossible launch, and does not call the driver.
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  const bool possible = threads > 0 && threads <= 1024 && grid.x > 0 && grid.y > 0 && grid.z > 0;
  if (RUNTIME_VERSION < 13000 && !possible) return cudaErrorInvalidConfiguration;
  return bound([&] {
    CUfunction function = nullptr;
    if (const CUresult result = find(stub, &function); result != CUDA_SUCCESS) return result;
    return cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                          static_cast<unsigned int>(shared), stream, arguments, nullptr);
  });
}

}  // namespace

#define UNPACK(...) __VA_ARGS__
#define RUNTIME(name, version, stub, parameters, arguments, body)                   \
  extern "C" cudaError_t CUDARTAPI name parameters {                                \
    const name##_##version##_params params{UNPACK arguments};                       \
    static constexpr Call call{CUPTI_RUNTIME_TRACE_CBID_##name##_##version, #name}; \
    return traced(call, &params, stub, [&]() -> cudaError_t { return body; });      \
  }
#define RUNTIME_VOID(name, body)                                                 \
  extern "C" cudaError_t CUDARTAPI name() {                                      \
    static constexpr Call call{CUPTI_RUNTIME_TRACE_CBID_##name##_v3020, #name};  \
    return traced(call, nullptr, nullptr, []() -> cudaError_t { return body; }); \
  }
#define DRIVER(expression) bound([&] { return expression; })

RUNTIME(cudaMalloc, v3020, nullptr, (void** devPtr, std::size_t size), (devPtr, size),
        DRIVER(cuMemAlloc_v2(reinterpret_cast<CUdeviceptr*>(devPtr), size)))
RUNTIME(cudaFree, v3020, nullptr, (void* devPtr), (devPtr), DRIVER(cuMemFree_v2(address(devPtr))))
RUNTIME(cudaHostAlloc, v3020, nullptr, (void** pHost, std::size_t size, unsigned int flags), (pHost, size, flags),
        DRIVER(cuMemHostAlloc(pHost, size, flags)))
RUNTIME(cudaFreeHost, v3020, nullptr, (void* ptr), (ptr), DRIVER(cuMemFreeHost(ptr)))

static CUresult copy(void* dst, const void* src, std::size_t count, cudaMemcpyKind kind) {
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return cuMemcpyHtoD_v2(address(dst), src, count);
    case cudaMemcpyDeviceToHost:
      return cuMemcpyDtoH_v2(dst, address(src), count);
    case cudaMemcpyDeviceToDevice:
      return cuMemcpyDtoD_v2(address(dst), address(src), count);
    default:
      return cuMemcpy(address(dst), address(src), count);
  }
}

static CUresult copy_async(void* dst, const void* src, std::size_t count, cudaMemcpyKind kind, cudaStream_t stream) {
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return cuMemcpyHtoDAsync_v2(address(dst), src, count, stream);
    case cudaMemcpyDeviceToHost:
      return cuMemcpyDtoHAsync_v2(dst, address(src), count, stream);
    case cudaMemcpyDeviceToDevice:
      return cuMemcpyDtoDAsync_v2(address(dst), address(src), count, stream);
    default:
      return cuMemcpyAsync(address(dst), address(src), count, stream);
  }
}

RUNTIME(cudaMemcpy, v3020, nullptr, (void* dst, const void* src, std::size_t count, enum cudaMemcpyKind kind),
        (dst, src, count, kind), DRIVER(copy(dst, src, count, kind)))
RUNTIME(cudaMemcpyAsync, v3020, nullptr,
        (void* dst, const void* src, std::size_t count, enum cudaMemcpyKind kind, cudaStream_t stream),
        (dst, src, count, kind, stream), DRIVER(copy_async(dst, src, count, kind, stream)))
RUNTIME(cudaMemset, v3020, nullptr, (void* devPtr, int value, std::size_t count), (devPtr, value, count),
        DRIVER(cuMemsetD8_v2(address(devPtr), static_cast<unsigned char>(value), count)))
RUNTIME(cudaMemsetAsync, v3020, nullptr, (void* devPtr, int value, std::size_t count, cudaStream_t stream),
        (devPtr, value, count, stream),
        DRIVER(cuMemsetD8Async(address(devPtr), static_cast<unsigned char>(value), count, stream)))

static thread_local cudaError_t not_got = cudaErrorInvalidDeviceFunction;
RUNTIME(cudaLaunchKernel, v7000, func,
        (const void* func, dim3 gridDim, dim3 blockDim, void** args, std::size_t sharedMem, cudaStream_t stream),
        (func, gridDim, blockDim, args, sharedMem, stream),
        func == nullptr ? not_got : launch(func, gridDim, blockDim, args, sharedMem, stream))
// nvcc 13.0 and later compile <<<>>> to these calls. The kernel is looked up once, without a callback, and then
// launched.
extern "C" cudaError_t CUDARTAPI __cudaGetKernel(cudaKernel_t* kernel, const void* stub) {
  CUfunction function = nullptr;
  not_got = bound([&] { return find(stub, &function); });
  *kernel = not_got == cudaSuccess ? reinterpret_cast<cudaKernel_t>(const_cast<void*>(stub)) : nullptr;
  return not_got;
}
extern "C" cudaError_t CUDARTAPI __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                                    std::size_t shared, cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}
RUNTIME(cudaLaunchKernelExC, v11060, func, (const cudaLaunchConfig_t* config, const void* func, void** args),
        (config, func, args),
        launch(func, config->gridDim, config->blockDim, args, config->dynamicSmemBytes, config->stream))

RUNTIME(cudaStreamCreate, v3020, nullptr, (cudaStream_t * pStream), (pStream), DRIVER(cuStreamCreate(pStream, 0)))
RUNTIME(cudaStreamCreateWithFlags, v5000, nullptr, (cudaStream_t * pStream, unsigned int flags), (pStream, flags),
        DRIVER(cuStreamCreate(pStream, flags)))
RUNTIME(cudaStreamDestroy, v5050, nullptr, (cudaStream_t stream), (stream), DRIVER(cuStreamDestroy_v2(stream)))
RUNTIME(cudaStreamSynchronize, v3020, nullptr, (cudaStream_t stream), (stream), DRIVER(cuStreamSynchronize(stream)))
RUNTIME(cudaStreamQuery, v3020, nullptr, (cudaStream_t stream), (stream), DRIVER(cuStreamQuery(stream)))
RUNTIME(cudaStreamWaitEvent, v3020, nullptr, (cudaStream_t stream, cudaEvent_t event, unsigned int flags),
        (stream, event, flags), DRIVER(cuStreamWaitEvent(stream, event, flags)))
RUNTIME(cudaEventCreate, v3020, nullptr, (cudaEvent_t * event), (event), DRIVER(cuEventCreate(event, 0)))
RUNTIME(cudaEventDestroy, v3020, nullptr, (cudaEvent_t event), (event), DRIVER(cuEventDestroy_v2(event)))
RUNTIME(cudaEventRecord, v3020, nullptr, (cudaEvent_t event, cudaStream_t stream), (event, stream),
        DRIVER(cuEventRecord(event, stream)))
RUNTIME(cudaEventSynchronize, v3020, nullptr, (cudaEvent_t event), (event), DRIVER(cuEventSynchronize(event)))
RUNTIME_VOID(cudaDeviceSynchronize, DRIVER(cuCtxSynchronize()))

static cudaError_t reset() {
  if (const CUresult result = bind(); result != CUDA_SUCCESS && result != sim_context_error()) return code(result);
  const CUresult result = cuDevicePrimaryCtxReset_v2(device);
  ++resets;
  last_error = cudaSuccess;
  return code(result);
}
RUNTIME_VOID(cudaDeviceReset, reset())

static cudaError_t count_devices(int* count) {
  const CUresult result = initialize();
  return code(result == CUDA_SUCCESS ? cuDeviceGetCount(count) : result);
}
RUNTIME(cudaGetDeviceCount, v3020, nullptr, (int* count), (count), count_devices(count))

// The runtime itself rejects an invalid device number.
static cudaError_t set_device(int ordinal) {
  int count = 0;
  if (const cudaError_t result = count_devices(&count); result != cudaSuccess) return result;
  if (ordinal < 0 || ordinal >= count) return cudaErrorInvalidDevice;
  device = ordinal;
  return code(bind());
}
RUNTIME(cudaSetDevice, v3020, nullptr, (int ordinal), (ordinal), set_device(ordinal))
RUNTIME(cudaGetDevice, v3020, nullptr, (int* ordinal), (ordinal), (*ordinal = device, cudaSuccess))

extern "C" {

// If the context is lost, the last error is not cleared.
cudaError_t CUDARTAPI cudaGetLastError() {
  static constexpr Call call{CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020, "cudaGetLastError"};
  const cudaError_t was = last_error;
  const cudaError_t result = traced(call, nullptr, nullptr, [was] { return was; });
  if (sim_context_error() == CUDA_SUCCESS) last_error = cudaSuccess;
  return result;
}

cudaError_t CUDARTAPI cudaPeekAtLastError() {
  static constexpr Call call{CUPTI_RUNTIME_TRACE_CBID_cudaPeekAtLastError_v3020, "cudaPeekAtLastError"};
  return traced(call, nullptr, nullptr, [] { return last_error; });
}

const char* CUDARTAPI cudaGetErrorName(cudaError_t error) {
  const char* name = sim::name_in(sim::kRuntimeErrors, error);
  return name ? name : "unrecognized error code";
}

const char* CUDARTAPI cudaGetErrorString(cudaError_t error) {
  const char* text = sim::error_text(error);
  return text ? text : "unrecognized error code";
}

#if RUNTIME_VERSION >= 13000
cudaError_t CUDARTAPI cudaDeviceGetHostAtomicCapabilities(unsigned int*, const cudaAtomicOperation*, unsigned int,
                                                          int) {
  return cudaErrorNotSupported;
}
#endif

// nvcc's host code calls this before main.
void** CUDARTAPI __cudaRegisterFatBinary(void* binary) { return new void*(binary); }

void CUDARTAPI __cudaRegisterFatBinaryEnd(void**) {}

void CUDARTAPI __cudaUnregisterFatBinary(void** handle) { delete handle; }

void CUDARTAPI __cudaRegisterFunction(void**, const char* stub, char*, const char* name, int, uint3*, uint3*, dim3*,
                                      dim3*, int*) {
  std::lock_guard lock(kernels_mutex);
  kernel_names()[stub] = name;
}
}
