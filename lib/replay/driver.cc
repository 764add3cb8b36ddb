#include "replay/driver.h"

#include <dlfcn.h>

#include <type_traits>

namespace cudadiag::replay {

std::string Driver::load() {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) {
    const char* why = ::dlerror();
    return why == nullptr ? "no driver" : why;
  }
  std::string lacking;
  const auto optional = [library](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    return function != nullptr;
  };
  const auto needed = [&](auto& function, const char* name) {
    if (!optional(function, name) && lacking.empty()) lacking = std::string("the driver has no ") + name;
  };
  needed(init, "cuInit");
  needed(device_get, "cuDeviceGet");
  needed(device_get_by_bus, "cuDeviceGetByPCIBusId");
  needed(device_get_bus, "cuDeviceGetPCIBusId");
  needed(primary_ctx_retain, "cuDevicePrimaryCtxRetain");
  needed(ctx_set_current, "cuCtxSetCurrent");
  needed(ctx_set_limit, "cuCtxSetLimit");
  needed(ctx_synchronize, "cuCtxSynchronize");
  needed(mem_get_info, "cuMemGetInfo_v2");
  needed(mem_alloc, "cuMemAlloc_v2");
  needed(mem_host_register, "cuMemHostRegister_v2");
  needed(memset_d8, "cuMemsetD8_v2");
  needed(memcpy_htod, "cuMemcpyHtoD_v2");
  needed(memcpy_dtoh, "cuMemcpyDtoH_v2");
  needed(module_load_data, "cuModuleLoadData");
  needed(module_get_function, "cuModuleGetFunction");
  needed(module_get_global, "cuModuleGetGlobal_v2");
  needed(func_set_attribute, "cuFuncSetAttribute");
  needed(launch_kernel, "cuLaunchKernel");
  optional(launch_kernel_ex, "cuLaunchKernelEx");
  optional(mem_address_reserve, "cuMemAddressReserve");
  optional(mem_address_free, "cuMemAddressFree");
  optional(mem_create, "cuMemCreate");
  optional(mem_map, "cuMemMap");
  optional(mem_set_access, "cuMemSetAccess");
  optional(mem_get_granularity, "cuMemGetAllocationGranularity");
  optional(coredump_set_attribute_global, "cuCoredumpSetAttributeGlobal");
  return lacking;
}

}  // namespace cudadiag::replay
