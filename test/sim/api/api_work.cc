// Kernel launches and host functions.
#include <cstring>
#include <memory>
#include <utility>

#include "api/api.h"
#include "launch.h"

using sim::Gpu;
using sim::Launch;
using sim::Op;

namespace {

CUresult launch_on(CUstream handle, bool per_thread, const Launch& launch) {
  if (const CUresult refused = sim::check(launch); refused != CUDA_SUCCESS) return refused;
  sim::load_of(launch.function);
  Gpu::Lock lock(Gpu::instance().mutex);
  CUstream_st* stream = sim::stream_of(handle, per_thread);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  return sim::issue(lock, *stream, sim::kernel_op(launch));
}

CUresult launch_grid(CUfunction f, int width, int height, CUstream stream) {
  if (width < 0 || height < 0) return CUDA_ERROR_INVALID_VALUE;
  Launch launch{.function = f};
  launch.grid_x = static_cast<std::uint64_t>(width);
  launch.grid_y = static_cast<std::uint64_t>(height);
  return launch_on(stream, false, launch);
}

}  // namespace

std::vector<sim::Meeting>& sim::next_meetings() {
  static thread_local std::vector<Meeting> meetings;
  return meetings;
}

CUresult sim::check(const Launch& launch) {
  if (!launch.function) return CUDA_ERROR_INVALID_HANDLE;
  const std::uint64_t blocks = launch.grid_x * launch.grid_y * launch.grid_z;
  const std::uint64_t threads = launch.block_x * launch.block_y * launch.block_z;
  const bool fits = launch.grid_x <= 0x7fffffff && launch.grid_y <= 65535 && launch.grid_z <= 65535 &&
                    launch.block_x <= 1024 && launch.block_y <= 1024 && launch.block_z <= 64 && threads <= 1024;
  if (launch.block_x > 1024 || launch.block_y > 1024 || launch.block_z > 64) {
    log("One or more of block dimensions of (" + std::to_string(launch.block_x) + "," + std::to_string(launch.block_y) +
        "," + std::to_string(launch.block_z) + ") exceeds the maximum of (1024,1024,64)");
  }
  // A program cannot set this attribute of a real kernel.
  const int most = attribute_of(launch.function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  if (most > 0 && threads > static_cast<std::uint64_t>(most)) return CUDA_ERROR_INVALID_VALUE;
  if (blocks == 0 || threads == 0 || !fits || launch.shared_bytes > 227 * 1024) return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

namespace {

// Reads a parameter, whether the launch passes pointers to parameters or a single buffer.
template <typename T>
T parameter_at(const Launch& launch, std::size_t index, std::size_t offset) {
  T value{};
  // `extra` is CU_LAUNCH_PARAM_BUFFER_POINTER, then the buffer, and so on.
  const char* buffer = launch.parameters ? nullptr : static_cast<const char*>(launch.extra[1]);
  std::memcpy(&value, buffer ? buffer + offset : launch.parameters[index], sizeof value);
  return value;
}

// Sets the operation's effect if its kernel has one. README.md lists these kernels.
void take_parameters(const Launch& launch, Op& op) {
  const std::string& name = launch.function->name;
  if (!launch.parameters && !launch.extra) return;
  op.bytes = sizeof op.value;
  if (name == "sim_store_u32") {
    op.destination = parameter_at<std::uint64_t>(launch, 0, 0);
    op.value = parameter_at<std::uint32_t>(launch, 1, 8);
    op.device_destination = true;
  } else if (name == "sim_load_u32") {
    op.source = parameter_at<std::uint64_t>(launch, 0, 0);
    op.destination = parameter_at<std::uint64_t>(launch, 1, 8);
    op.device_source = op.device_destination = true;
  } else if (name == "sim_store_through") {
    op.source = parameter_at<std::uint64_t>(launch, 0, 0);
    op.value = parameter_at<std::uint32_t>(launch, 1, 8);
    op.through = true;
  } else if (name == "sim_store_variable") {
    std::size_t bytes = 0;
    op.value = parameter_at<std::uint32_t>(launch, 0, 0);
    op.through = sim::variable_of(launch.function->module, "place", op.source, bytes) == CUDA_SUCCESS;
  }
}

}  // namespace

sim::Op sim::kernel_op(const Launch& launch) {
  Op op{.kind = Op::Kind::kernel, .function = launch.function};
  const std::uint64_t grid[3] = {launch.grid_x, launch.grid_y, launch.grid_z};
  const std::uint64_t block[3] = {launch.block_x, launch.block_y, launch.block_z};
  for (int i = 0; i < 3; ++i) {
    op.grid[i] = static_cast<unsigned int>(grid[i]), op.block[i] = static_cast<unsigned int>(block[i]);
  }
  op.shared_bytes = static_cast<unsigned int>(launch.shared_bytes);
  op.meetings = std::exchange(next_meetings(), {});
  take_parameters(launch, op);
  std::size_t offset = 0, size = 0;
  for (std::size_t i = 0; launch.parameters; ++i) {
    if (parameter_of(*launch.function, i, &offset, &size) != CUDA_SUCCESS) break;
    const char* bytes = static_cast<const char*>(launch.parameters[i]);
    op.parameters.emplace_back(bytes, bytes + size);
  }
  return op;
}

SIM_API_STREAM(cuLaunchKernel, _ptsz, context,
               (CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
                unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ, unsigned int sharedMemBytes,
                CUstream hStream, void** kernelParams, void** extra),
               (f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream, kernelParams,
                extra)) {
  return launch_on(
      hStream, per_thread,
      {f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, kernelParams, extra});
}

SIM_API_STREAM(cuLaunchKernelEx, _ptsz, context,
               (const CUlaunchConfig* config, CUfunction f, void** kernelParams, void** extra),
               (config, f, kernelParams, extra)) {
  return launch_on(config->hStream, per_thread,
                   {f, config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX, config->blockDimY,
                    config->blockDimZ, config->sharedMemBytes, kernelParams, extra});
}

SIM_API_STREAM(cuLaunchCooperativeKernel, _ptsz, context,
               (CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
                unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ, unsigned int sharedMemBytes,
                CUstream hStream, void** kernelParams),
               (f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream,
                kernelParams)) {
  return launch_on(hStream, per_thread,
                   {f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, kernelParams});
}

SIM_API(cuLaunch, context, (CUfunction f), (f)) { return launch_grid(f, 1, 1, nullptr); }

SIM_API(cuLaunchGrid, context, (CUfunction f, int grid_width, int grid_height), (f, grid_width, grid_height)) {
  return launch_grid(f, grid_width, grid_height, nullptr);
}

SIM_API(cuLaunchGridAsync, context, (CUfunction f, int grid_width, int grid_height, CUstream hStream),
        (f, grid_width, grid_height, hStream)) {
  return launch_grid(f, grid_width, grid_height, hStream);
}

namespace {

struct Callback {
  CUstreamCallback function;
  CUstream stream;
  void* data;
};

void CUDA_CB call_back(void* data) {
  const std::unique_ptr<Callback> callback(static_cast<Callback*>(data));
  callback->function(callback->stream, CUDA_SUCCESS, callback->data);
}

}  // namespace

SIM_API_STREAM(cuStreamAddCallback, _ptsz, context,
               (CUstream hStream, CUstreamCallback callback, void* userData, unsigned int flags),
               (hStream, callback, userData, flags)) {
  Gpu::Lock lock(Gpu::instance().mutex);
  CUstream_st* stream = sim::stream_of(hStream, per_thread);
  if (!stream || !callback || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult refused = sim::refuse_capturing(*stream); refused != CUDA_SUCCESS) return refused;
  return sim::issue(
      lock, *stream,
      {.kind = Op::Kind::host_function, .host_function = call_back, .data = new Callback{callback, hStream, userData}});
}

SIM_API_STREAM(cuLaunchHostFunc, _ptsz, context, (CUstream hStream, CUhostFn fn, void* userData),
               (hStream, fn, userData)) {
  Gpu::Lock lock(Gpu::instance().mutex);
  CUstream_st* stream = sim::stream_of(hStream, per_thread);
  if (!stream || !fn) return CUDA_ERROR_INVALID_VALUE;
  return sim::issue(lock, *stream, {.kind = Op::Kind::host_function, .host_function = fn, .data = userData});
}
