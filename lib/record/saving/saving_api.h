// The driver functions that are used to save a launch. An older driver may lack some of them: each comment gives the
// CUDA release that introduced the function. Data that a missing function would provide is omitted.
#pragma once

#include <cuda.h>

#include <cstddef>

namespace cudadiag::record {

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
  CUresult (*graph_kernel_node_get_attribute)(CUgraphNode, CUlaunchAttributeID,
                                              CUlaunchAttributeValue*) = nullptr;  // 11.0
};

}  // namespace cudadiag::record
