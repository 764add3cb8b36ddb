#include "record/driver_api.h"

#include <dlfcn.h>

#include <type_traits>

#include "record/hooks/redirection.h"

namespace cudadiag::record {

namespace {

template <typename Function>
void resolve(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(original_of(dlsym(library, name)));
}

}  // namespace

bool DriverApi::load() {
  // RTLD_NOLOAD is enough, because the driver has called this code. The driver is never unloaded.
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return false;
  resolve(library, mem_host_register, "cuMemHostRegister_v2");
  resolve(library, mem_host_get_device_pointer, "cuMemHostGetDevicePointer_v2");
  resolve(library, pointer_get_attribute, "cuPointerGetAttribute");
  // Without the suffix _v2, the symbol is the deprecated first version, which always fails.
  resolve(library, stream_write_value32, "cuStreamWriteValue32_v2");
  resolve(library, stream_is_capturing, "cuStreamIsCapturing");
  resolve(library, thread_exchange_capture_mode, "cuThreadExchangeStreamCaptureMode");
  resolve(library, stream_query, "cuStreamQuery");
  resolve(library, stream_get_id, "cuStreamGetId");
  resolve(library, stream_get_flags, "cuStreamGetFlags");
  resolve(library, stream_get_ctx, "cuStreamGetCtx");
  resolve(library, launch_host_func, "cuLaunchHostFunc");
  resolve(library, ctx_get_current, "cuCtxGetCurrent");
  resolve(library, ctx_push_current, "cuCtxPushCurrent_v2");
  resolve(library, ctx_pop_current, "cuCtxPopCurrent_v2");
  resolve(library, ctx_get_id, "cuCtxGetId");
  resolve(library, device_primary_ctx_get_state, "cuDevicePrimaryCtxGetState");
  resolve(library, stream_get_capture_info, "cuStreamGetCaptureInfo_v3");
  resolve(library, stream_get_capture_info_v2, "cuStreamGetCaptureInfo_v2");
  resolve(library, coredump_set_attribute_global, "cuCoredumpSetAttributeGlobal");
  resolve(library, coredump_register_complete_callback, "cuCoredumpRegisterCompleteCallback");
  resolve(library, ctx_get_device, "cuCtxGetDevice");
  resolve(library, device_get_name, "cuDeviceGetName");
  resolve(library, device_get_attribute, "cuDeviceGetAttribute");
  resolve(library, device_get_pci_bus_id, "cuDeviceGetPCIBusId");
  resolve(library, driver_get_version, "cuDriverGetVersion");
  resolve(library, logs_register_callback, "cuLogsRegisterCallback");
  resolve(library, func_get_name, "cuFuncGetName");
  resolve(library, kernel_get_name, "cuKernelGetName");
  resolve(library, func_get_attribute, "cuFuncGetAttribute");
  resolve(library, kernel_get_attribute, "cuKernelGetAttribute");
  resolve(library, mem_get_info, "cuMemGetInfo_v2");
  resolve(library, mem_get_address_range, "cuMemGetAddressRange_v2");
  resolve(library, func_get_param_info, "cuFuncGetParamInfo");
  resolve(library, kernel_get_param_info, "cuKernelGetParamInfo");
  resolve(library, graph_get_nodes, "cuGraphGetNodes");
  resolve(library, graph_get_edges, "cuGraphGetEdges_v2");
  resolve(library, graph_node_get_type, "cuGraphNodeGetType");
  resolve(library, graph_kernel_node_get_params, "cuGraphKernelNodeGetParams_v2");
  resolve(library, graph_kernel_node_get_attribute, "cuGraphKernelNodeGetAttribute");
  resolve(library, graph_child_get_graph, "cuGraphChildGraphNodeGetGraph");
  resolve(library, graph_memcpy_node_get_params, "cuGraphMemcpyNodeGetParams");
  resolve(library, graph_memset_node_get_params, "cuGraphMemsetNodeGetParams");
  resolve(library, graph_host_node_get_params, "cuGraphHostNodeGetParams");
  resolve(library, graph_event_record_node_get_event, "cuGraphEventRecordNodeGetEvent");
  resolve(library, graph_event_wait_node_get_event, "cuGraphEventWaitNodeGetEvent");
  resolve(library, graph_node_get_dependents, "cuGraphNodeGetDependentNodes_v2");
  resolve(library, graph_add_batch_mem_op_node, "cuGraphAddBatchMemOpNode");
  resolve(library, graph_add_dependencies, "cuGraphAddDependencies_v2");
  resolve(library, graph_destroy_node, "cuGraphDestroyNode");
  return true;
}

void SavingApi::load() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return;
  const auto resolve = [library](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(original_of(dlsym(library, name)));
  };
  resolve(memcpy_dtoh, "cuMemcpyDtoH_v2");
  resolve(func_get_attribute, "cuFuncGetAttribute");
  resolve(kernel_get_attribute, "cuKernelGetAttribute");
  resolve(func_get_module, "cuFuncGetModule");
  resolve(kernel_get_library, "cuKernelGetLibrary");
  resolve(module_get_global, "cuModuleGetGlobal_v2");
  resolve(library_get_global, "cuLibraryGetGlobal");
  resolve(ctx_get_limit, "cuCtxGetLimit");
  resolve(library_get_kernel, "cuLibraryGetKernel");
  resolve(kernel_get_function, "cuKernelGetFunction");
  resolve(graph_launch, "cuGraphLaunch");
  resolve(graph_destroy, "cuGraphDestroy");
  resolve(graph_node_set_enabled, "cuGraphNodeSetEnabled");
  resolve(graph_node_get_enabled, "cuGraphNodeGetEnabled");
}

}  // namespace cudadiag::record
