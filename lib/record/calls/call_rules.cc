#include "record/calls/call_rules.h"

#include <cupti.h>  // declares the parameter structures of all calls

#include <algorithm>
#include <array>

#include "record/calls/memory_and_graph_call_rules.h"

namespace cudadiag::record {

namespace {

using Kind = wire::operation::Kind;

void read_launch_config(const CUlaunchConfig& config, Call& call) {
  call.stream.handle = config.hStream;
  call.grid[0] = config.gridDimX, call.grid[1] = config.gridDimY, call.grid[2] = config.gridDimZ;
  call.block[0] = config.blockDimX, call.block[1] = config.blockDimY, call.block[2] = config.blockDimZ;
  call.shared_bytes = config.sharedMemBytes;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    if (config.attrs[i].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    const auto& cluster = config.attrs[i].value.clusterDim;
    call.cluster[0] = cluster.x, call.cluster[1] = cluster.y, call.cluster[2] = cluster.z;
  }
}

// Reads the addresses and the shape of a 2D or 3D copy. A CUDA array has no address, so 0 is stored.
template <typename Copy>
void read_rows(const Copy& copy, Call& call) {
  const auto place = [](CUmemorytype type, CUdeviceptr device, const void* host, std::size_t offset) -> std::uint64_t {
    if (type == CU_MEMORYTYPE_ARRAY) return 0;
    return (type == CU_MEMORYTYPE_HOST ? reinterpret_cast<std::uint64_t>(host) : device) + offset;
  };
  std::size_t to = copy.dstXInBytes + copy.dstY * copy.dstPitch;
  std::size_t from = copy.srcXInBytes + copy.srcY * copy.srcPitch;
  call.width = copy.WidthInBytes;
  call.rows = static_cast<std::uint32_t>(copy.Height);
  call.destination_pitch = copy.dstPitch;
  call.source_pitch = copy.srcPitch;
  call.argument = copy.WidthInBytes * copy.Height;
  if constexpr (requires { copy.Depth; }) {
    to += copy.dstZ * copy.dstHeight * copy.dstPitch;
    from += copy.srcZ * copy.srcHeight * copy.srcPitch;
    const bool dense = copy.dstHeight == copy.Height && copy.srcHeight == copy.Height;
    if (copy.Depth != 1) call.rows = dense ? static_cast<std::uint32_t>(copy.Height * copy.Depth) : 0;
    call.argument *= copy.Depth;
  }
  const auto may_be_host = [](CUmemorytype type) {
    return type == CU_MEMORYTYPE_HOST || type == CU_MEMORYTYPE_UNIFIED;
  };
  call.to_host = may_be_host(copy.dstMemoryType);
  call.from_host = may_be_host(copy.srcMemoryType);
  call.destination = place(copy.dstMemoryType, copy.dstDevice, copy.dstHost, to);
  call.source = place(copy.srcMemoryType, copy.srcDevice, copy.srcHost, from);
}

// Returns the size of one element of a memset, in bytes.
template <typename Parameters>
constexpr std::uint64_t element_size() {
  if (requires(Parameters p) { p.ui; }) return 4;
  return requires(Parameters p) { p.us; }
  ? 2 : 1;
}

using MemoryOperation = wire::operation::MemoryOperation;

MemoryOperation wait_by(unsigned flags) {
  switch (flags & 3u) {
    case CU_STREAM_WAIT_VALUE_EQ:
      return MemoryOperation::wait_equal;
    case CU_STREAM_WAIT_VALUE_AND:
      return MemoryOperation::wait_and;
    case CU_STREAM_WAIT_VALUE_NOR:
      return MemoryOperation::wait_nor;
    default:
      return MemoryOperation::wait_at_least;
  }
}

// Describes a batch by its first wait, because that is where the batch can block. If the batch has no wait, describes
// it by its first write.
void read_batch(unsigned count, const CUstreamBatchMemOpParams* batch, Call& call) {
  for (unsigned i = 0; batch != nullptr && i < count; ++i) {
    const bool wide =
        batch[i].operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 || batch[i].operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
    if (batch[i].operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 || batch[i].operation == CU_STREAM_MEM_OP_WAIT_VALUE_64) {
      const auto& wait = batch[i].waitValue;
      call.argument = wait.address, call.value = wide ? wait.value64 : wait.value;
      call.memory_operation = wait_by(wait.flags);
      return;
    }
    const bool writes = wide || batch[i].operation == CU_STREAM_MEM_OP_WRITE_VALUE_32;
    if (!writes || call.memory_operation != MemoryOperation::unknown) continue;
    const auto& write = batch[i].writeValue;
    call.argument = write.address, call.value = wide ? write.value64 : write.value;
    call.memory_operation = MemoryOperation::write;
  }
}

// CUPTI declares one parameter structure per call, with the argument names of cuda.h as member names. These functions
// read the members that exist in `Parameters`.
template <typename Parameters>
void decode_launch(const Parameters& p, Call& call) {
  if constexpr (requires { p.f; }) call.function = p.f;
  if constexpr (requires { p.gridDimX; }) {
    call.grid[0] = p.gridDimX, call.grid[1] = p.gridDimY, call.grid[2] = p.gridDimZ;
    call.block[0] = p.blockDimX, call.block[1] = p.blockDimY, call.block[2] = p.blockDimZ;
    call.shared_bytes = p.sharedMemBytes;
  }
  if constexpr (requires { p.grid_width; }) {
    call.grid[0] = static_cast<unsigned>(p.grid_width), call.grid[1] = static_cast<unsigned>(p.grid_height);
    call.grid[2] = 1;
  }
  if constexpr (requires { p.config->hStream; }) {
    if (p.config != nullptr) read_launch_config(*p.config, call);
  }
  if constexpr (requires { p.launchParamsList; }) {
    if (p.launchParamsList != nullptr && p.numDevices > 0) {
      const CUDA_LAUNCH_PARAMS& first = p.launchParamsList[0];
      call.stream.handle = first.hStream, call.function = first.function;
      call.grid[0] = first.gridDimX, call.grid[1] = first.gridDimY, call.grid[2] = first.gridDimZ;
      call.block[0] = first.blockDimX, call.block[1] = first.blockDimY, call.block[2] = first.blockDimZ;
      call.shared_bytes = first.sharedMemBytes;
    }
  }
  if constexpr (requires { p.kernelParams; }) call.parameters = p.kernelParams;
  if constexpr (requires { p.extra; }) call.extra = p.extra;
}

template <typename Parameters>
void decode_addresses(const Parameters& p, Call& call) {
  if constexpr (requires { p.dstDevice; }) call.destination = p.dstDevice;
  if constexpr (requires { p.dstHost; }) {
    call.destination = reinterpret_cast<std::uint64_t>(p.dstHost);
    call.to_host = true;
  }
  if constexpr (requires { CUdeviceptr{p.dst}; }) {
    call.destination = p.dst;
    call.to_host = true;
  }
  if constexpr (requires { CUdeviceptr{p.devPtr}; }) call.destination = p.devPtr;
  if constexpr (requires { p.srcDevice; }) call.source = p.srcDevice;
  if constexpr (requires { p.srcHost; }) {
    call.source = reinterpret_cast<std::uint64_t>(p.srcHost);
    call.from_host = true;
  }
  if constexpr (requires { CUdeviceptr{p.src}; }) {
    call.source = p.src;
    call.from_host = true;
  }
}

template <typename Parameters>
void decode_amount(const Parameters& p, Call& call) {
  if constexpr (requires { p.ByteCount; }) call.argument = p.ByteCount;
  if constexpr (requires {
                  p.count;
                  CUdeviceptr{p.devPtr};
                })
    call.argument = p.count;
  if constexpr (requires { p.N; }) call.argument = p.N * element_size<Parameters>();
  if constexpr (requires { p.Width* p.Height; }) call.argument = p.Width * p.Height * element_size<Parameters>();
  if constexpr (requires { p.Width* p.Height* p.dstPitch; }) {
    call.width = p.Width * element_size<Parameters>();
    call.rows = static_cast<std::uint32_t>(p.Height);
    call.destination_pitch = p.dstPitch;
  }
  if constexpr (requires { p.pCopy->WidthInBytes; }) {
    if (p.pCopy != nullptr) read_rows(*p.pCopy, call);
  }
  if constexpr (requires { p.bytesize; }) call.argument = p.bytesize;
}

template <typename Parameters>
void decode(const void* raw, Call& call) {
  const auto& p = *static_cast<const Parameters*>(raw);
  if constexpr (requires { p.hStream; }) call.stream.handle = p.hStream;
  if constexpr (requires { p.stream; }) call.stream.handle = p.stream;
  decode_launch(p, call);
  decode_addresses(p, call);
  decode_amount(p, call);
  if constexpr (requires { p.hEvent; }) call.argument = reinterpret_cast<std::uint64_t>(p.hEvent);
  if constexpr (requires {
                  p.hGraph;
                  p.hStream;
                })
    call.argument = reinterpret_cast<std::uint64_t>(p.hGraph);
  if constexpr (requires { p.addr; }) call.argument = p.addr;
  if constexpr (requires {
                  p.addr;
                  p.value;
                })
    call.value = p.value;
  if constexpr (requires { p.paramArray; }) read_batch(p.count, p.paramArray, call);
  if constexpr (requires { p.extSemArray; }) {
    if (p.extSemArray != nullptr && p.numExtSems > 0) {
      call.argument = reinterpret_cast<std::uint64_t>(p.extSemArray[0]);
    }
  }
  if constexpr (requires { p.mode; }) call.argument = p.mode;
}

template <typename Parameters>
void decode_value_wait(const void* raw, Call& call) {
  decode<Parameters>(raw, call);
  call.memory_operation = wait_by(static_cast<const Parameters*>(raw)->flags);
}

template <typename Parameters, MemoryOperation What>
void decode_as(const void* raw, Call& call) {
  decode<Parameters>(raw, call);
  call.memory_operation = What;
}

using Table = std::array<CallRule, 1024>;
constexpr CallRule kWatched;

struct Builder {
  Table table{};
  constexpr void set(std::uint32_t id, CallRule rule) { table[id] = rule; }
  constexpr void set_blocking(std::uint32_t id, CallRule rule) {
    rule.blocks = true;
    set(id, rule);
  }
};

// RULE adds the rule for one call. RULE_SZ also adds a rule for the _ptsz variant, which uses the per-thread default
// stream.
#define RULE(role, kind, name) \
  b.set(CUPTI_DRIVER_TRACE_CBID_##name, {Role::role, Kind::kind, false, false, decode<name##_params>})
#define RULE_SZ(role, kind, name) \
  RULE(role, kind, name);         \
  b.set(CUPTI_DRIVER_TRACE_CBID_##name##_ptsz, {Role::role, Kind::kind, true, false, decode<name##_params>})
#define RULE_MEM(name, decoder)                                                                            \
  b.set(CUPTI_DRIVER_TRACE_CBID_##name, {Role::operation, Kind::memory_operation, false, false, decoder}); \
  b.set(CUPTI_DRIVER_TRACE_CBID_##name##_ptsz, {Role::operation, Kind::memory_operation, true, false, decoder})
// Like RULE_SZ, for calls that may block the host. They have no "Async" in their names, and their variant is _ptds.
#define RULE_DS(role, kind, name, proves)                                                                         \
  b.set_blocking(CUPTI_DRIVER_TRACE_CBID_##name, {Role::role, Kind::kind, false, proves, decode<name##_params>}); \
  b.set_blocking(CUPTI_DRIVER_TRACE_CBID_##name##_ptds, {Role::role, Kind::kind, true, proves, decode<name##_params>})

constexpr void add_launches(Builder& b) {
  RULE_SZ(operation, kernel, cuLaunchKernel);
  RULE_SZ(operation, kernel, cuLaunchKernelEx);
  RULE_SZ(operation, kernel, cuLaunchCooperativeKernel);
  RULE(operation, kernel, cuLaunchCooperativeKernelMultiDevice);
  RULE(operation, kernel, cuLaunch);
  RULE(operation, kernel, cuLaunchGrid);
  RULE(operation, kernel, cuLaunchGridAsync);
  RULE_SZ(operation, graph, cuGraphLaunch);
  RULE_SZ(operation, host_function, cuLaunchHostFunc);
  RULE_SZ(operation, host_function, cuStreamAddCallback);
}

constexpr void add_copies(Builder& b) {
  // Only a copy to the host is certain to have finished when the call returns. Other copies may still be running.
  RULE_DS(operation, copy, cuMemcpyDtoH_v2, true);
  RULE_DS(operation, copy, cuMemcpyAtoH_v2, true);
  RULE_DS(operation, copy, cuMemcpyHtoD_v2, false);
  RULE_DS(operation, copy, cuMemcpyDtoD_v2, false);
  RULE_DS(operation, copy, cuMemcpyDtoA_v2, false);
  RULE_DS(operation, copy, cuMemcpyAtoD_v2, false);
  RULE_DS(operation, copy, cuMemcpyHtoA_v2, false);
  RULE_DS(operation, copy, cuMemcpyAtoA_v2, false);
  RULE_DS(operation, copy, cuMemcpy2D_v2, false);
  RULE_DS(operation, copy, cuMemcpy2DUnaligned_v2, false);
  RULE_DS(operation, copy, cuMemcpy3D_v2, false);
  RULE_DS(operation, copy, cuMemcpy, false);
  RULE_DS(operation, copy, cuMemcpyPeer, false);
  RULE_DS(operation, copy, cuMemcpy3DPeer, false);
  RULE_SZ(operation, copy, cuMemcpyAsync);
  RULE_SZ(operation, copy, cuMemcpyHtoDAsync_v2);
  RULE_SZ(operation, copy, cuMemcpyDtoHAsync_v2);
  RULE_SZ(operation, copy, cuMemcpyDtoDAsync_v2);
  RULE_SZ(operation, copy, cuMemcpyHtoAAsync_v2);
  RULE_SZ(operation, copy, cuMemcpyAtoHAsync_v2);
  RULE_SZ(operation, copy, cuMemcpy2DAsync_v2);
  RULE_SZ(operation, copy, cuMemcpy3DAsync_v2);
  RULE_SZ(operation, copy, cuMemcpyPeerAsync);
  RULE_SZ(operation, copy, cuMemcpy3DPeerAsync);
  RULE_SZ(operation, copy, cuMemcpyBatchAsync);
  RULE_SZ(operation, copy, cuMemcpyBatchAsync_v2);
  RULE_SZ(operation, copy, cuMemcpy3DBatchAsync);
  RULE_SZ(operation, copy, cuMemcpy3DBatchAsync_v2);
}

constexpr void add_memory(Builder& b) {
  RULE_DS(operation, memset, cuMemsetD8_v2, false);
  RULE_DS(operation, memset, cuMemsetD16_v2, false);
  RULE_DS(operation, memset, cuMemsetD32_v2, false);
  RULE_DS(operation, memset, cuMemsetD2D8_v2, false);
  RULE_DS(operation, memset, cuMemsetD2D16_v2, false);
  RULE_DS(operation, memset, cuMemsetD2D32_v2, false);
  RULE_SZ(operation, memset, cuMemsetD8Async);
  RULE_SZ(operation, memset, cuMemsetD16Async);
  RULE_SZ(operation, memset, cuMemsetD32Async);
  RULE_SZ(operation, memset, cuMemsetD2D8Async);
  RULE_SZ(operation, memset, cuMemsetD2D16Async);
  RULE_SZ(operation, memset, cuMemsetD2D32Async);
  RULE_SZ(operation, prefetch, cuMemPrefetchAsync);
  RULE_SZ(operation, prefetch, cuMemPrefetchAsync_v2);
  RULE_SZ(operation, prefetch, cuMemPrefetchBatchAsync);
  RULE_SZ(operation, allocation, cuMemAllocAsync);
  RULE_SZ(operation, allocation, cuMemAllocFromPoolAsync);
  RULE_SZ(operation, allocation, cuMemFreeAsync);
  RULE_MEM(cuStreamWaitValue32_v2, decode_value_wait<cuStreamWaitValue32_v2_params>);
  RULE_MEM(cuStreamWaitValue64_v2, decode_value_wait<cuStreamWaitValue64_v2_params>);
  RULE_MEM(cuStreamWriteValue32_v2, (decode_as<cuStreamWriteValue32_v2_params, MemoryOperation::write>));
  RULE_MEM(cuStreamWriteValue64_v2, (decode_as<cuStreamWriteValue64_v2_params, MemoryOperation::write>));
  RULE_MEM(cuStreamBatchMemOp_v2, decode<cuStreamBatchMemOp_v2_params>);
  RULE_MEM(cuWaitExternalSemaphoresAsync,
           (decode_as<cuWaitExternalSemaphoresAsync_params, MemoryOperation::wait_semaphore>));
  RULE_MEM(cuSignalExternalSemaphoresAsync,
           (decode_as<cuSignalExternalSemaphoresAsync_params, MemoryOperation::signal_semaphore>));
}

constexpr void add_order(Builder& b) {
  RULE_SZ(operation, event_record, cuEventRecord);
  RULE_SZ(operation, event_record, cuEventRecordWithFlags);
  RULE_SZ(operation, event_wait, cuStreamWaitEvent);
  RULE(event_wait, event_sync, cuEventSynchronize);
  RULE(event_wait, event_sync, cuEventQuery);
  RULE(event_forgotten, event_forgotten, cuEventDestroy);
  RULE(event_forgotten, event_forgotten, cuEventDestroy_v2);
  RULE(event_forgotten, event_forgotten, cuCtxRecordEvent);
  RULE(event_forgotten, event_forgotten, cuGreenCtxRecordEvent);
  b.set(CUPTI_DRIVER_TRACE_CBID_cuIpcGetEventHandle, {Role::event_shared});
  b.set(CUPTI_DRIVER_TRACE_CBID_cuIpcOpenEventHandle, {Role::event_shared});
  RULE_SZ(stream_wait, none, cuStreamSynchronize);
  RULE_SZ(stream_wait, none, cuStreamQuery);
  b.set(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, {Role::context_wait});
  b.set(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize_v2, {Role::context_wait});
  RULE_SZ(capture_begin, none, cuStreamBeginCapture);
  RULE_SZ(capture_begin, none, cuStreamBeginCapture_v2);
  RULE_SZ(capture_begin, none, cuStreamBeginCaptureToGraph);
  RULE_SZ(capture_end, none, cuStreamEndCapture);
}

constexpr void add_starts(Builder& b) {
  b.set(CUPTI_DRIVER_TRACE_CBID_cuInit, {Role::initialise});
  b.set(CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress, {Role::look_up});
  b.set(CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress_v2, {Role::look_up});
  for (const std::uint32_t id :
       {CUPTI_DRIVER_TRACE_CBID_cuModuleLoad, CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData,
        CUPTI_DRIVER_TRACE_CBID_cuModuleLoadDataEx, CUPTI_DRIVER_TRACE_CBID_cuModuleLoadFatBinary,
        CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadData, CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadFromFile}) {
    b.set(id, {Role::load_code});
  }
}

constexpr void add_peers(Builder& b) {
  b.set(CUPTI_DRIVER_TRACE_CBID_cuCtxEnablePeerAccess, {Role::peer_access});
  b.set(CUPTI_DRIVER_TRACE_CBID_cuCtxDisablePeerAccess, {Role::peer_access});
}

constexpr void add_graphs(Builder& b) {
  for (std::uint32_t id = 1; id < b.table.size(); ++id) {
    if (graph_call(id) != GraphCall::What::none) b.set(id, {Role::graph});
  }
}

constexpr void mark_memory(Builder& b) {
  for (std::uint32_t id = 1; id < b.table.size(); ++id) b.table[id].memory = memory_call(id) != MemoryCall::What::none;
}

// Marks the calls that wait for the GPU, and calls that may wait as a side effect, such as cuMemFree. Calls that load
// code are not marked. They may run while the dynamic linker's lock is held, and no stack should be unwound then.
constexpr void mark_blocking(Builder& b) {
  for (const std::uint32_t id :
       {CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize_ptsz,
        CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize_v2,
        CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2,
        CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2, CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged,
        CUPTI_DRIVER_TRACE_CBID_cuMemAllocHost_v2, CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc,
        CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister_v2, CUPTI_DRIVER_TRACE_CBID_cuMemHostUnregister,
        CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2, CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost,
        CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2, CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2,
        CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease_v2}) {
    b.table[id].blocks = true;
  }
  b.table[CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy].decode = decode<cuStreamDestroy_params>;
  b.table[CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2].decode = decode<cuStreamDestroy_v2_params>;
  // cuDevicePrimaryCtxRelease is not in this list, because it usually only drops a reference to the context.
  b.table[CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2].ends_context = true;
  b.table[CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2].ends_context = true;
  for (const std::uint32_t id :
       {CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy, CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2,
        CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy, CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2,
        CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset, CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2,
        CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease, CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease_v2}) {
    b.table[id].ends_stream = true;
  }
}

constexpr void mark_simple(Builder& b) {
  for (CallRule& rule : b.table) {
    rule.only_issues =
        rule.role == Role::operation && !rule.memory && !rule.ends_context && !rule.ends_stream && !rule.blocks;
  }
}

#undef RULE
#undef RULE_SZ
#undef RULE_MEM
#undef RULE_DS

// Built at compile time. A table built on first use would need a guard variable and the locks of the C++ runtime.
constexpr Table kTable = [] {
  Builder b;
  add_launches(b);
  add_copies(b);
  add_memory(b);
  add_order(b);
  add_starts(b);
  add_peers(b);
  add_graphs(b);
  mark_memory(b);
  mark_blocking(b);
  mark_simple(b);
  return b.table;
}();

static_assert(std::all_of(kTable.begin(), kTable.end(),
                          [](const CallRule& rule) { return rule.kind != Kind::kernel || rule == kernel_rule(rule); }));

void read_dimensions(dim3 grid, dim3 block, std::size_t shared, Call& call) {
  call.grid[0] = grid.x, call.grid[1] = grid.y, call.grid[2] = grid.z;
  call.block[0] = block.x, call.block[1] = block.y, call.block[2] = block.z;
  call.shared_bytes = static_cast<std::uint32_t>(shared);
}

}  // namespace

void read_copy(const CUDA_MEMCPY3D& copy, Call& call) { read_rows(copy, call); }

const CallRule& driver_call(std::uint32_t id) {
  if (id < kTable.size()) [[likely]]
    return kTable[id];
  return kWatched;
}

bool only_asks(std::string_view name) {
  const auto has = [name](std::string_view part) { return name.find(part) != std::string_view::npos; };
  // The following calls can fail, or change something. cuDeviceGet fails if the machine has no device with that number.
  // A look-up of a kernel may load its module, and GetCaptureInfo touches the context. After IpcGetEventHandle, other
  // processes can record the event. The last three give memory to other processes, devices, or the host.
  if (name == "cuDeviceGet") return false;
  for (const std::string_view fallible :
       {"GetFunction", "GetFuncBySymbol", "GetKernel", "GetModule", "GetCaptureInfo", "FuncGetAttributes", "MemGetInfo",
        "IpcGetEventHandle", "cuIpcGetMemHandle", "cuMemGetHandleForAddressRange", "cuLibraryGetManaged"}) {
    if (has(fallible)) return false;
  }
  return has("Get") || has("PeekAtLastError") || has("CallConfiguration") || has("ExchangeStreamCaptureMode") ||
         has("CreateChannelDesc");
}

bool decode_runtime_launch(std::uint32_t id, const void* parameters, Call& call) {
  switch (id) {
    case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000:
    case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000:
    case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000:
    case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_ptsz_v9000: {
      const auto& p = *static_cast<const cudaLaunchKernel_v7000_params*>(parameters);
      read_dimensions(p.gridDim, p.blockDim, p.sharedMem, call);
      return true;
    }
    case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060:
    case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_ptsz_v11060: {
      const auto& p = *static_cast<const cudaLaunchKernelExC_v11060_params*>(parameters);
      if (p.config != nullptr) read_dimensions(p.config->gridDim, p.config->blockDim, p.config->dynamicSmemBytes, call);
      return true;
    }
    default:
      return false;
  }
}

}  // namespace cudadiag::record
