#include "record/saving/saving_api.h"

#include <dlfcn.h>

#include <type_traits>

#include "record/hooks/redirection.h"

namespace cudadiag::record {

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
  resolve(graph_kernel_node_get_attribute, "cuGraphKernelNodeGetAttribute");
}

}  // namespace cudadiag::record
