// Attributes of kernels, variables of modules, limits of contexts.
#include <cstdlib>
#include <map>

#include "api/api.h"
#include "launch.h"

using sim::Gpu;

namespace {

std::map<std::pair<CUfunction, CUfunction_attribute>, int>& attributes() {
  static auto& all = *new std::map<std::pair<CUfunction, CUfunction_attribute>, int>;
  return all;
}

std::map<CUlimit, std::size_t>& limits() {
  static auto& all = *new std::map<CUlimit, std::size_t>{
      {CU_LIMIT_STACK_SIZE, 1024}, {CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 20}, {CU_LIMIT_MALLOC_HEAP_SIZE, 8 << 20}};
  return all;
}

}  // namespace

CUresult sim::variable_of(CUmodule module, const std::string& name, std::uint64_t& address, std::size_t& bytes) {
  auto& known = module->variables[name];
  if (known.first == 0) {
    const std::string declared = " " + name + "[";
    const auto at = module->image.find(declared);
    if (at == std::string::npos) return CUDA_ERROR_NOT_FOUND;
    known.second = std::strtoul(module->image.c_str() + at + declared.size(), nullptr, 10);
    const CUcontext context = current_context();
    const CUresult result =
        Gpu::instance().memory.allocate(context->uid, known.second, Memory::Kind::device, known.first);
    if (result != CUDA_SUCCESS) return result;
  }
  address = known.first;
  bytes = known.second;
  return CUDA_SUCCESS;
}

SIM_API(cuModuleGetGlobal_v2, context, (CUdeviceptr * dptr, std::size_t* bytes, CUmodule hmod, const char* name),
        (dptr, bytes, hmod, name)) {
  std::uint64_t address = 0;
  std::size_t size = 0;
  const CUresult result = sim::variable_of(hmod, name, address, size);
  if (result != CUDA_SUCCESS) return result;
  if (dptr) *dptr = address;
  if (bytes) *bytes = size;
  return CUDA_SUCCESS;
}

SIM_API(cuFuncGetModule, driver, (CUmodule * hmod, CUfunction hfunc), (hmod, hfunc)) {
  if (!hfunc || hfunc->is_kernel) return CUDA_ERROR_INVALID_HANDLE;
  *hmod = hfunc->module;
  return CUDA_SUCCESS;
}

int sim::attribute_of(CUfunction function, CUfunction_attribute attribute) {
  const auto known = attributes().find({function, attribute});
  return known == attributes().end() ? 0 : known->second;
}

SIM_API(cuFuncGetAttribute, driver, (int* pi, CUfunction_attribute attrib, CUfunction hfunc), (pi, attrib, hfunc)) {
  if (!hfunc || hfunc->is_kernel) return CUDA_ERROR_INVALID_HANDLE;
  *pi = sim::attribute_of(hfunc, attrib);
  return CUDA_SUCCESS;
}

SIM_API(cuFuncSetAttribute, driver, (CUfunction hfunc, CUfunction_attribute attrib, int value),
        (hfunc, attrib, value)) {
  if (!hfunc || hfunc->is_kernel) return CUDA_ERROR_INVALID_HANDLE;
  attributes()[{hfunc, attrib}] = value;
  return CUDA_SUCCESS;
}

SIM_API(cuCtxGetLimit, context, (std::size_t * pvalue, CUlimit limit), (pvalue, limit)) {
  const auto known = limits().find(limit);
  if (known == limits().end()) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  *pvalue = known->second;
  return CUDA_SUCCESS;
}

SIM_API(cuCtxSetLimit, context, (CUlimit limit, std::size_t value), (limit, value)) {
  if (!limits().contains(limit)) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  limits()[limit] = value;
  return CUDA_SUCCESS;
}
