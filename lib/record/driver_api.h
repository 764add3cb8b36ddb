// The driver functions that the recorder itself calls, found in the process's own libcuda. An older driver may lack
// some of them: each comment gives the CUDA release that introduced the function. Features that need a missing function
// stay off.
#pragma once

#include <cuda.h>

#include <cstddef>

namespace cudadiag::record {

struct DriverApi {
  bool load();

  // With hooks, each call uses these two, so they come first.
  CUresult (*ctx_get_current)(CUcontext*) = nullptr;                 // 4.0
  CUresult (*ctx_get_id)(CUcontext, unsigned long long*) = nullptr;  // 12.0

  CUresult (*mem_host_register)(void*, size_t, unsigned) = nullptr;                         // 4.0
  CUresult (*mem_host_get_device_pointer)(CUdeviceptr*, void*, unsigned) = nullptr;         // 3.2
  CUresult (*stream_write_value32)(CUstream, CUdeviceptr, cuuint32_t, unsigned) = nullptr;  // _v2: 11.7
  CUresult (*stream_is_capturing)(CUstream, CUstreamCaptureStatus*) = nullptr;              // 10.0
  CUresult (*thread_exchange_capture_mode)(CUstreamCaptureMode*) = nullptr;                 // 10.1
  CUresult (*stream_query)(CUstream) = nullptr;                                             // 2.0
  CUresult (*pointer_get_attribute)(void*, CUpointer_attribute, CUdeviceptr) = nullptr;     // 4.0
  CUresult (*stream_get_id)(CUstream, unsigned long long*) = nullptr;                       // 12.0
  CUresult (*stream_get_flags)(CUstream, unsigned*) = nullptr;                              // 5.5
  CUresult (*stream_get_ctx)(CUstream, CUcontext*) = nullptr;                               // 9.2
  CUresult (*launch_host_func)(CUstream, CUhostFn, void*) = nullptr;                        // 10.0
  CUresult (*ctx_push_current)(CUcontext) = nullptr;                                        // 4.0
  CUresult (*ctx_pop_current)(CUcontext*) = nullptr;                                        // 4.0
  CUresult (*device_primary_ctx_get_state)(CUdevice, unsigned*, int*) = nullptr;            // 7.0
  CUresult (*stream_get_capture_info)(CUstream, CUstreamCaptureStatus*, cuuint64_t*, CUgraph*, const CUgraphNode**,
                                      const CUgraphEdgeData**, size_t*) = nullptr;  // _v3: 12.3
  CUresult (*stream_get_capture_info_v2)(CUstream, CUstreamCaptureStatus*, cuuint64_t*, CUgraph*, const CUgraphNode**,
                                         size_t*) = nullptr;                                                 // 11.3
  CUresult (*coredump_set_attribute_global)(CUcoredumpSettings, void*, size_t*) = nullptr;                   // 12.1
  CUresult (*coredump_register_complete_callback)(void (*)(void*, int, CUdevice), void*, void**) = nullptr;  // 13.2
  CUresult (*ctx_get_device)(CUdevice*) = nullptr;                                                           // 2.0
  CUresult (*device_get_name)(char*, int, CUdevice) = nullptr;                                               // 2.0
  CUresult (*device_get_attribute)(int*, CUdevice_attribute, CUdevice) = nullptr;                            // 2.0
  CUresult (*device_get_pci_bus_id)(char*, int, CUdevice) = nullptr;                                         // 4.1
  CUresult (*driver_get_version)(int*) = nullptr;                                                            // 2.2
  CUresult (*logs_register_callback)(void (*)(void*, int, char*, size_t), void*, void**) = nullptr;          // 12.9

  CUresult (*func_get_name)(const char**, CUfunction) = nullptr;                                          // 12.3
  CUresult (*kernel_get_name)(const char**, CUkernel) = nullptr;                                          // 12.3
  CUresult (*func_get_attribute)(int*, CUfunction_attribute, CUfunction) = nullptr;                       // 2.2
  CUresult (*kernel_get_attribute)(int*, CUfunction_attribute, CUkernel, CUdevice) = nullptr;             // 12.0
  CUresult (*mem_get_info)(size_t*, size_t*) = nullptr;                                                   // 2.0
  CUresult (*mem_get_address_range)(CUdeviceptr*, size_t*, CUdeviceptr) = nullptr;                        // 2.0
  CUresult (*func_get_param_info)(CUfunction, size_t, size_t*, size_t*) = nullptr;                        // 12.4
  CUresult (*kernel_get_param_info)(CUkernel, size_t, size_t*, size_t*) = nullptr;                        // 12.4
  CUresult (*graph_get_nodes)(CUgraph, CUgraphNode*, size_t*) = nullptr;                                  // 10.0
  CUresult (*graph_get_edges)(CUgraph, CUgraphNode*, CUgraphNode*, CUgraphEdgeData*, size_t*) = nullptr;  // _v2: 12.3
  CUresult (*graph_node_get_type)(CUgraphNode, CUgraphNodeType*) = nullptr;                               // 10.0
  CUresult (*graph_kernel_node_get_params)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS*) = nullptr;              // _v2: 12.0
  CUresult (*graph_kernel_node_get_attribute)(CUgraphNode, CUlaunchAttributeID,
                                              CUlaunchAttributeValue*) = nullptr;             // 11.0
  CUresult (*graph_child_get_graph)(CUgraphNode, CUgraph*) = nullptr;                         // 10.0
  CUresult (*graph_memcpy_node_get_params)(CUgraphNode, CUDA_MEMCPY3D*) = nullptr;            // 10.0
  CUresult (*graph_memset_node_get_params)(CUgraphNode, CUDA_MEMSET_NODE_PARAMS*) = nullptr;  // 10.0
  CUresult (*graph_host_node_get_params)(CUgraphNode, CUDA_HOST_NODE_PARAMS*) = nullptr;      // 10.0
  CUresult (*graph_event_record_node_get_event)(CUgraphNode, CUevent*) = nullptr;             // 11.1
  CUresult (*graph_event_wait_node_get_event)(CUgraphNode, CUevent*) = nullptr;               // 11.1

  CUresult (*graph_node_get_dependents)(CUgraphNode, CUgraphNode*, CUgraphEdgeData*, size_t*) = nullptr;  // _v2: 12.3
  CUresult (*graph_add_batch_mem_op_node)(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                                          const CUDA_BATCH_MEM_OP_NODE_PARAMS*) = nullptr;  // 11.7
  CUresult (*graph_add_dependencies)(CUgraph, const CUgraphNode*, const CUgraphNode*, const CUgraphEdgeData*,
                                     size_t) = nullptr;   // _v2: 12.3
  CUresult (*graph_destroy_node)(CUgraphNode) = nullptr;  // 10.0

  bool can_mark_graphs() const {
    return can_describe_graphs() && graph_get_edges && graph_node_get_dependents && graph_add_batch_mem_op_node &&
           graph_add_dependencies && graph_destroy_node && mem_host_register && mem_host_get_device_pointer;
  }
  bool can_describe_graphs() const { return graph_get_nodes && graph_node_get_type && thread_exchange_capture_mode; }
  bool can_mark() const {
    return mem_host_register && mem_host_get_device_pointer && stream_write_value32 && stream_is_capturing &&
           thread_exchange_capture_mode;
  }
};

// Keeps the recorder's own driver calls from interfering with stream captures. If another thread captures in global
// mode, a driver call may fail and invalidate the capture. Relaxed mode on the calling thread prevents that.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const DriverApi& driver) : driver_(driver) { driver_.thread_exchange_capture_mode(&mode_); }
  ~RelaxedCapture() { driver_.thread_exchange_capture_mode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const DriverApi& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

// The driver functions that are used to save a launch. An older driver may lack some of them: each comment gives the
// CUDA release that introduced the function. Data that a missing function would provide is omitted.
struct SavingApi {
  void load();

  CUresult (*memcpy_dtoh)(void*, CUdeviceptr, std::size_t) = nullptr;                            // 3.2
  CUresult (*func_get_attribute)(int*, CUfunction_attribute, CUfunction) = nullptr;              // 2.2
  CUresult (*kernel_get_attribute)(int*, CUfunction_attribute, CUkernel, CUdevice) = nullptr;    // 12.0
  CUresult (*func_get_module)(CUmodule*, CUfunction) = nullptr;                                  // 11.0
  CUresult (*kernel_get_library)(CUlibrary*, CUkernel) = nullptr;                                // 12.5
  CUresult (*module_get_global)(CUdeviceptr*, std::size_t*, CUmodule, const char*) = nullptr;    // 3.2
  CUresult (*library_get_global)(CUdeviceptr*, std::size_t*, CUlibrary, const char*) = nullptr;  // 12.0
  CUresult (*ctx_get_limit)(std::size_t*, CUlimit) = nullptr;                                    // 3.1
  CUresult (*library_get_kernel)(CUkernel*, CUlibrary, const char*) = nullptr;                   // 12.0
  CUresult (*kernel_get_function)(CUfunction*, CUkernel) = nullptr;                              // 12.0
  CUresult (*graph_launch)(CUgraphExec, CUstream) = nullptr;                                     // 10.0
  CUresult (*graph_destroy)(CUgraph) = nullptr;                                                  // 10.0
  CUresult (*graph_node_set_enabled)(CUgraphExec, CUgraphNode, unsigned) = nullptr;              // 11.6
  CUresult (*graph_node_get_enabled)(CUgraphExec, CUgraphNode, unsigned*) = nullptr;             // 11.6
};

}  // namespace cudadiag::record
