// Contexts and modules.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "api/api.h"
#include "launch.h"

using sim::Gpu;

namespace {

CUctx_st* primary_of(CUdevice device) {
  Gpu& gpu = Gpu::instance();
  return device >= 0 && device < gpu.plan.devices() ? gpu.primary[static_cast<std::size_t>(device)].get() : nullptr;
}

// Contexts that cuCtxDestroy has destroyed. Their addresses are reused, as with the real driver.
std::vector<CUcontext>& free_contexts() {
  static auto& contexts = *new std::vector<CUcontext>;
  return contexts;
}

CUresult create_context(CUcontext* pctx, CUdevice dev) {
  Gpu& gpu = Gpu::instance();
  if (!primary_of(dev)) return CUDA_ERROR_INVALID_DEVICE;
  Gpu::Lock lock(gpu.mutex);
  if (free_contexts().empty()) free_contexts().push_back(new CUctx_st);
  *pctx = free_contexts().back();
  free_contexts().pop_back();
  gpu.start_context(**pctx, dev);
  sim::context_stack().push_back(*pctx);
  sim::announce(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, *pctx);
  return CUDA_SUCCESS;
}

void destroy_context(CUctx_st& context) {
  sim::announce(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, &context);
  sim::deliver_announcements();
  Gpu& gpu = Gpu::instance();
  Gpu::Lock lock(gpu.mutex);
  if (context.alive) gpu.end_context(lock, context);
}

std::size_t image_size(const void* image) {
  const auto* bytes = static_cast<const unsigned char*>(image);
  if (std::memcmp(bytes,
                  "\x7f"
                  "ELF",
                  4) != 0)
    return std::strlen(static_cast<const char*>(image)) + 1;
  std::uint64_t sections = 0;
  std::uint16_t size = 0;
  std::uint16_t count = 0;
  std::memcpy(&sections, bytes + 40, 8);
  std::memcpy(&size, bytes + 58, 2);
  std::memcpy(&count, bytes + 60, 2);
  return sections + std::size_t{size} * count;
}

CUmodule load_module(const void* image) {
  static std::atomic<std::uint32_t> last{0};
  auto* module = new CUmod_st;
  module->id = ++last;
  module->image.assign(static_cast<const char*>(image), image_size(image));
  return module;
}

CUresult function_in(CUmodule module, const char* name, CUfunction* function, bool as_kernel = false) {
  Gpu& gpu = Gpu::instance();
  if (gpu.plan.lacks_kernel(name)) return CUDA_ERROR_NOT_FOUND;
  Gpu::Lock lock(gpu.mutex);
  auto& place = module->functions[(as_kernel ? "kernel " : "") + std::string(name)];
  if (!place) place = std::make_unique<CUfunc_st>(CUfunc_st{name, as_kernel, module});
  *function = place.get();
  return CUDA_SUCCESS;
}

// Reads the parameter sizes from the PTX, such as ".entry NAME(.param .u64 row, .param .u32 cells)". If the PTX has no
// entry, reads them from the end of the kernel's name.
std::vector<std::size_t> parameter_sizes(const CUfunc_st& function) {
  constexpr std::string_view kParameter = ".param .";
  std::vector<std::size_t> sizes;
  if (function.name == "sim_store_u32" || function.name == "sim_store_through") return {8, 4};
  if (function.name == "sim_load_u32") return {8, 8};
  if (function.name == "sim_store_variable") return {4};
  const std::string entry = ".entry " + function.name + "(";
  if (const auto at = function.module->image.find(entry); at != std::string::npos) {
    const std::string list = function.module->image.substr(at, function.module->image.find(')', at) - at);
    for (auto each = list.find(kParameter); each != list.npos; each = list.find(kParameter, each + 1)) {
      sizes.push_back(std::strtoul(list.c_str() + each + kParameter.size() + 1, nullptr, 10) / 8);  // "u64"
    }
  } else if (const auto end = function.name.rfind("__"); end != std::string::npos) {
    std::istringstream text(function.name.substr(end + 2));
    for (std::string word; std::getline(text, word, '_');) sizes.push_back(std::strtoul(word.c_str(), nullptr, 10));
  }
  return sizes;
}

}  // namespace

void sim::load_of(CUfunction function) {
  if (function->module == nullptr || function->module->loaded.exchange(true)) return;
  announce_module(CUPTI_CBID_RESOURCE_MODULE_LOADED, current_context(), function->module);
}

CUresult sim::parameter_of(const CUfunc_st& function, std::size_t index, std::size_t* offset, std::size_t* size) {
  const std::vector<std::size_t> sizes = parameter_sizes(function);
  if (index >= sizes.size()) return CUDA_ERROR_INVALID_VALUE;
  std::size_t end = 0;
  for (std::size_t i = 0; i <= index; ++i) {
    const bool has_alignment = sizes[i] == 1 || sizes[i] == 2 || sizes[i] == 4 || sizes[i] == sizeof(CUtensorMap);
    const std::size_t alignment = has_alignment ? sizes[i] : 8;
    // Parameters begin at this address in the constant bank. On sm_90, the address of each parameter is aligned, rather
    // than its offset.
    constexpr std::size_t kFirst = 0x210;
    *offset = (kFirst + end + alignment - 1) / alignment * alignment - kFirst;
    end = *offset + sizes[i];
  }
  *size = sizes[index];
  return CUDA_SUCCESS;
}

SIM_API(cuDevicePrimaryCtxRetain, driver, (CUcontext * pctx, CUdevice dev), (pctx, dev)) {
  CUctx_st* context = primary_of(dev);
  if (!context) return CUDA_ERROR_INVALID_DEVICE;
  Gpu::Lock lock(Gpu::instance().mutex);
  if (!context->alive) {
    Gpu::instance().start_context(*context, dev);
    sim::announce(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, context);
  }
  ++context->retained;
  *pctx = context;
  return context->error;
}

SIM_API(cuDevicePrimaryCtxRelease_v2, driver, (CUdevice dev), (dev)) {
  CUctx_st* context = primary_of(dev);
  if (!context || context->retained == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (--context->retained == 0) destroy_context(*context);
  return CUDA_SUCCESS;
}

SIM_API(cuDevicePrimaryCtxReset_v2, driver, (CUdevice dev), (dev)) {
  CUctx_st* context = primary_of(dev);
  if (!context) return CUDA_ERROR_INVALID_DEVICE;
  if (context->alive) destroy_context(*context);
  context->retained = 0;
  return CUDA_SUCCESS;
}

SIM_API(cuCtxCreate_v2, driver, (CUcontext * pctx, unsigned int flags, CUdevice dev), (pctx, flags, dev)) {
  static_cast<void>(flags);
  return create_context(pctx, dev);
}

SIM_API(cuCtxCreate_v4, driver,
        (CUcontext * pctx, CUctxCreateParams* ctxCreateParams, unsigned int flags, CUdevice dev),
        (pctx, ctxCreateParams, flags, dev)) {
  static_cast<void>(ctxCreateParams);
  static_cast<void>(flags);
  return create_context(pctx, dev);
}

SIM_API(cuCtxDestroy_v2, driver, (CUcontext ctx), (ctx)) {
  if (!ctx || !ctx->alive) return CUDA_ERROR_INVALID_CONTEXT;
  destroy_context(*ctx);
  auto& stack = sim::context_stack();
  if (!stack.empty() && stack.back() == ctx) stack.pop_back();
  Gpu::Lock lock(Gpu::instance().mutex);
  free_contexts().push_back(ctx);
  return CUDA_SUCCESS;
}

SIM_API(cuCtxSetCurrent, driver, (CUcontext ctx), (ctx)) {
  auto& stack = sim::context_stack();
  if (!stack.empty()) stack.pop_back();
  if (ctx) stack.push_back(ctx);
  return CUDA_SUCCESS;
}

SIM_API(cuCtxGetCurrent, driver, (CUcontext * pctx), (pctx)) {
  *pctx = sim::current_context();
  return CUDA_SUCCESS;
}

SIM_API(cuCtxPushCurrent_v2, driver, (CUcontext ctx), (ctx)) {
  if (!ctx) return CUDA_ERROR_INVALID_VALUE;
  sim::context_stack().push_back(ctx);
  return CUDA_SUCCESS;
}

SIM_API(cuCtxPopCurrent_v2, driver, (CUcontext * pctx), (pctx)) {
  auto& stack = sim::context_stack();
  if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (pctx) *pctx = stack.back();
  stack.pop_back();
  return CUDA_SUCCESS;
}

SIM_API(cuCtxEnablePeerAccess, context, (CUcontext peerContext, unsigned int Flags), (peerContext, Flags)) {
  if (Flags != 0 || !peerContext || peerContext == sim::current_context()) return CUDA_ERROR_INVALID_VALUE;
  Gpu::Lock lock(Gpu::instance().mutex);
  const bool is_new = sim::current_context()->peers.insert(peerContext).second;
  return is_new ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

SIM_API(cuCtxDisablePeerAccess, context, (CUcontext peerContext), (peerContext)) {
  Gpu::Lock lock(Gpu::instance().mutex);
  const bool had = sim::current_context()->peers.erase(peerContext) > 0;
  return had ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

SIM_API(cuCtxGetDevice, context, (CUdevice * device), (device)) {
  *device = sim::current_context()->device;
  return CUDA_SUCCESS;
}

SIM_API(cuCtxGetId, driver, (CUcontext ctx, unsigned long long* ctxId), (ctx, ctxId)) {
  if (!ctx) ctx = sim::current_context();
  if (!ctx) return CUDA_ERROR_INVALID_CONTEXT;
  *ctxId = ctx->uid;
  return CUDA_SUCCESS;
}

SIM_API_VOID(cuCtxSynchronize, quiet) {
  Gpu& gpu = Gpu::instance();
  Gpu::Lock lock(gpu.mutex);
  CUctx_st& context = *sim::current_context();
  return gpu.wait(lock, context, gpu.everything_in(context));
}

// Like recording the event on the legacy stream, but the event covers all streams of the context.
SIM_API(cuCtxRecordEvent, context, (CUcontext hCtx, CUevent hEvent), (hCtx, hEvent)) {
  if (!hCtx || !hEvent) return CUDA_ERROR_INVALID_HANDLE;
  Gpu& gpu = Gpu::instance();
  Gpu::Lock lock(gpu.mutex);
  const CUresult result =
      gpu.submit(lock, *hCtx->legacy, {.kind = sim::Op::Kind::wait_streams, .after = gpu.everything_in(*hCtx)});
  hEvent->recorded = {hCtx->legacy, hCtx->legacy->issued};
  return result;
}

SIM_API(cuModuleLoadData, context, (CUmodule * module, const void* image), (module, image)) {
  if (!image) return CUDA_ERROR_INVALID_VALUE;
  *module = load_module(image);
  return CUDA_SUCCESS;
}

SIM_API(cuModuleLoadDataEx, context,
        (CUmodule * module, const void* image, unsigned int numOptions, CUjit_option* options, void** optionValues),
        (module, image, numOptions, options, optionValues)) {
  static_cast<void>(numOptions);
  static_cast<void>(options);
  static_cast<void>(optionValues);
  if (!image) return CUDA_ERROR_INVALID_VALUE;
  *module = load_module(image);
  return CUDA_SUCCESS;
}

SIM_API(cuModuleLoad, context, (CUmodule * module, const char* fname), (module, fname)) {
  std::ifstream file(fname, std::ios::binary);
  const std::string image{std::istreambuf_iterator<char>(file), {}};
  if (image.empty()) return CUDA_ERROR_FILE_NOT_FOUND;
  *module = load_module(image.c_str());
  return CUDA_SUCCESS;
}

SIM_API(cuModuleUnload, context, (CUmodule hmod), (hmod)) {
  sim::announce_module(CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, sim::current_context(), hmod);
  sim::deliver_announcements();
  return CUDA_SUCCESS;  // the module stays: unfinished operations refer to its kernels
}

SIM_API(cuModuleGetFunction, context, (CUfunction * hfunc, CUmodule hmod, const char* name), (hfunc, hmod, name)) {
  return hmod ? function_in(hmod, name, hfunc) : CUDA_ERROR_INVALID_HANDLE;
}

SIM_API(cuFuncGetName, driver, (const char** name, CUfunction hfunc), (name, hfunc)) {
  if (!hfunc) return CUDA_ERROR_INVALID_VALUE;
  *name = hfunc->name.c_str();
  return CUDA_SUCCESS;
}

SIM_API(cuLibraryLoadData, context,
        (CUlibrary * library, const void* code, CUjit_option* jitOptions, void** jitOptionsValues,
         unsigned int numJitOptions, CUlibraryOption* libraryOptions, void** libraryOptionValues,
         unsigned int numLibraryOptions),
        (library, code, jitOptions, jitOptionsValues, numJitOptions, libraryOptions, libraryOptionValues,
         numLibraryOptions)) {
  static_cast<void>(jitOptions), static_cast<void>(jitOptionsValues), static_cast<void>(numJitOptions);
  static_cast<void>(libraryOptions), static_cast<void>(libraryOptionValues), static_cast<void>(numLibraryOptions);
  if (!code) return CUDA_ERROR_INVALID_VALUE;
  *library = reinterpret_cast<CUlibrary>(load_module(code));
  return CUDA_SUCCESS;
}

// A CUkernel is the same object as its CUfunction here, so that either can be launched, as with the real driver.
SIM_API(cuLibraryGetKernel, context, (CUkernel * pKernel, CUlibrary library, const char* name),
        (pKernel, library, name)) {
  return function_in(reinterpret_cast<CUmodule>(library), name, reinterpret_cast<CUfunction*>(pKernel), true);
}

SIM_API(cuKernelGetFunction, context, (CUfunction * pFunc, CUkernel kernel), (pFunc, kernel)) {
  const auto of = reinterpret_cast<CUfunction>(kernel);
  return of ? function_in(of->module, of->name.c_str(), pFunc) : CUDA_ERROR_INVALID_HANDLE;
}

SIM_API(cuFuncGetParamInfo, driver,
        (CUfunction func, std::size_t paramIndex, std::size_t* paramOffset, std::size_t* paramSize),
        (func, paramIndex, paramOffset, paramSize)) {
  if (!func || func->is_kernel) return CUDA_ERROR_INVALID_HANDLE;
  sim::load_of(func);
  return sim::parameter_of(*func, paramIndex, paramOffset, paramSize);
}

SIM_API(cuKernelGetParamInfo, driver,
        (CUkernel kernel, std::size_t paramIndex, std::size_t* paramOffset, std::size_t* paramSize),
        (kernel, paramIndex, paramOffset, paramSize)) {
  const auto of = reinterpret_cast<CUfunction>(kernel);
  if (!of || !of->is_kernel) return CUDA_ERROR_INVALID_HANDLE;
  sim::load_of(of);
  return sim::parameter_of(*of, paramIndex, paramOffset, paramSize);
}

SIM_API(cuKernelGetName, driver, (const char** name, CUkernel hfunc), (name, hfunc)) {
  if (!hfunc) return CUDA_ERROR_INVALID_VALUE;
  *name = reinterpret_cast<CUfunction>(hfunc)->name.c_str();
  return CUDA_SUCCESS;
}
