// The driver functions that a replay calls, looked up at run time. Only the child process that repeats the launch loads
// the driver. The comment after each function gives the first CUDA release that has it.
#pragma once

#include <cuda.h>

#include <string>

namespace cudadiag::replay {

struct Driver {
  // Loads the driver. Returns a clause that says what is missing; empty if no required function is missing.
  std::string load();

  CUresult (*init)(unsigned) = nullptr;                                                        // 2.0
  CUresult (*device_get)(CUdevice*, int) = nullptr;                                            // 2.0
  CUresult (*device_get_by_bus)(CUdevice*, const char*) = nullptr;                             // 4.1
  CUresult (*device_get_bus)(char*, int, CUdevice) = nullptr;                                  // 4.1
  CUresult (*primary_ctx_retain)(CUcontext*, CUdevice) = nullptr;                              // 7.0
  CUresult (*ctx_set_current)(CUcontext) = nullptr;                                            // 4.0
  CUresult (*ctx_set_limit)(CUlimit, std::size_t) = nullptr;                                   // 3.1
  CUresult (*ctx_synchronize)() = nullptr;                                                     // 2.0
  CUresult (*mem_get_info)(std::size_t*, std::size_t*) = nullptr;                              // 3.2
  CUresult (*mem_alloc)(CUdeviceptr*, std::size_t) = nullptr;                                  // 3.2
  CUresult (*mem_host_register)(void*, std::size_t, unsigned) = nullptr;                       // 6.5
  CUresult (*memset_d8)(CUdeviceptr, unsigned char, std::size_t) = nullptr;                    // 3.2
  CUresult (*memcpy_htod)(CUdeviceptr, const void*, std::size_t) = nullptr;                    // 3.2
  CUresult (*memcpy_dtoh)(void*, CUdeviceptr, std::size_t) = nullptr;                          // 3.2
  CUresult (*module_load_data)(CUmodule*, const void*) = nullptr;                              // 2.0
  CUresult (*module_get_function)(CUfunction*, CUmodule, const char*) = nullptr;               // 2.0
  CUresult (*module_get_global)(CUdeviceptr*, std::size_t*, CUmodule, const char*) = nullptr;  // 3.2
  CUresult (*func_set_attribute)(CUfunction, CUfunction_attribute, int) = nullptr;             // 9.0
  CUresult (*launch_kernel)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                            void**, void**) = nullptr;  // 4.0
  // Optional. Without these, a replay ignores launch attributes, or all memory gets new addresses.
  CUresult (*launch_kernel_ex)(const CUlaunchConfig*, CUfunction, void**, void**) = nullptr;  // 11.8
  CUresult (*mem_address_reserve)(CUdeviceptr*, std::size_t, std::size_t, CUdeviceptr,
                                  unsigned long long) = nullptr;     // 10.2
  CUresult (*mem_address_free)(CUdeviceptr, std::size_t) = nullptr;  // 10.2
  CUresult (*mem_create)(CUmemGenericAllocationHandle*, std::size_t, const CUmemAllocationProp*,
                         unsigned long long) = nullptr;  // 10.2
  CUresult (*mem_map)(CUdeviceptr, std::size_t, std::size_t, CUmemGenericAllocationHandle,
                      unsigned long long) = nullptr;                                                    // 10.2
  CUresult (*mem_set_access)(CUdeviceptr, std::size_t, const CUmemAccessDesc*, std::size_t) = nullptr;  // 10.2
  CUresult (*mem_get_granularity)(std::size_t*, const CUmemAllocationProp*,
                                  CUmemAllocationGranularity_flags) = nullptr;  // 10.2

  CUresult (*coredump_set_attribute_global)(CUcoredumpSettings, void*, std::size_t*) = nullptr;  // 12.1

  bool can_map() const {
    return mem_address_reserve && mem_address_free && mem_create && mem_map && mem_set_access && mem_get_granularity;
  }
};

}  // namespace cudadiag::replay
