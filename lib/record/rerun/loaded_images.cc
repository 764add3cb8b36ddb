#include "record/rerun/loaded_images.h"

#include <cupti.h>
#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>

namespace cudadiag::record {

namespace {

template <typename Parameters>
const Parameters& as(const void* parameters) {
  return *static_cast<const Parameters*>(parameters);
}

template <typename Handle>
const void* handle_at(Handle* place) {
  return place == nullptr ? nullptr : static_cast<const void*>(*place);
}

}  // namespace

LoadCall load_call(std::uint32_t id, const void* parameters) {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData: {
      const auto& call = as<cuModuleLoadData_params>(parameters);
      return {handle_at(call.module), call.image, nullptr, false};
    }
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadDataEx: {
      const auto& call = as<cuModuleLoadDataEx_params>(parameters);
      return {handle_at(call.module), call.image, nullptr, false};
    }
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoadFatBinary: {
      const auto& call = as<cuModuleLoadFatBinary_params>(parameters);
      return {handle_at(call.module), call.fatCubin, nullptr, false};
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadData: {
      const auto& call = as<cuLibraryLoadData_params>(parameters);
      return {handle_at(call.library), call.code, nullptr, true};
    }
    case CUPTI_DRIVER_TRACE_CBID_cuModuleLoad: {
      const auto& call = as<cuModuleLoad_params>(parameters);
      return {handle_at(call.module), nullptr, call.fname, false};
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadFromFile: {
      const auto& call = as<cuLibraryLoadFromFile_params>(parameters);
      return {handle_at(call.library), nullptr, call.fileName, true};
    }
    default:
      return {};
  }
}

void LoadedImages::returned(std::uint32_t id, const void* parameters) {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuModuleGetFunction: {
      const auto& call = as<cuModuleGetFunction_params>(parameters);
      return got(handle_at(call.hfunc), call.hmod, false);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLibraryGetKernel: {
      const auto& call = as<cuLibraryGetKernel_params>(parameters);
      return got(handle_at(call.pKernel), call.library, true);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLibraryGetModule: {
      const auto& call = as<cuLibraryGetModule_params>(parameters);
      return got(handle_at(call.pMod), call.library, false);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuKernelGetFunction: {
      const auto& call = as<cuKernelGetFunction_params>(parameters);
      return got(handle_at(call.pFunc), call.kernel, false);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuLibraryUnload:
      return unloaded(as<cuLibraryUnload_params>(parameters).library);
    default:
      return loaded(load_call(id, parameters));
  }
}

LoadedImages::Image* LoadedImages::take(const void* handle, bool is_library) {
  if (handle == nullptr || used_ == images_.size()) return nullptr;
  Image& image = images_[used_];
  if (!owners_.insert(key(handle), 2 * (used_ + 1))) return nullptr;
  ++used_;
  if (is_library) {
    image.library = reinterpret_cast<CUlibrary>(const_cast<void*>(handle));
  } else {
    image.module = reinterpret_cast<CUmodule>(const_cast<void*>(handle));
  }
  return &image;
}

void LoadedImages::loaded(const LoadCall& call) {
  if (call.handle == nullptr) return;
  const LockGuard lock(mutex_);
  ImageExtent extent = image_extent(call.code);
  if (extent.begin != nullptr && !keep(extent)) extent = {};
  Image* image = take(call.handle, call.is_library);
  if (image == nullptr) return;
  image->extent = extent;
  if (call.file == nullptr) return;
  const std::size_t bytes = strlen(call.file) + 1;
  void* copy = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) return;
  memcpy(copy, call.file, bytes);
  image->file = static_cast<const char*>(copy);
}

void LoadedImages::got(const void* handle, const void* owner, bool is_kernel) {
  if (handle == nullptr || owner == nullptr) return;
  const LockGuard lock(mutex_);
  const std::uint32_t known = owners_.find(key(owner));
  if (known != 0) owners_.insert(key(handle), (known & ~1u) | (is_kernel ? 1u : 0u));
}

// Copies an image that is not part of a loaded library. Called once per image, when its code is loaded. Never call this
// at a launch, because it calls the dynamic linker.
bool LoadedImages::keep(ImageExtent& extent) {
  Dl_info library{};
  if (dladdr(extent.begin, &library) != 0) return true;
  if (extent.size > kMostCopied - copied_) return false;
  const std::size_t bytes = extent.size + 1;  // text must stay NUL-terminated
  void* copy = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) return false;
  memcpy(copy, extent.begin, extent.size);
  extent.begin = static_cast<const std::byte*>(copy);
  copied_ += extent.size;
  return true;
}

// Forgets the library, because the driver accepts no calls on an unloaded library.
void LoadedImages::unloaded(const void* library) {
  const LockGuard lock(mutex_);
  const std::uint32_t known = owners_.find(key(library));
  if (known != 0) images_[known / 2 - 1].library = nullptr;
}

// Searches by name. This is needed for a handle that comes from a graph node, because the program has never looked up a
// kernel with this handle.
LoadedImages::Kernel LoadedImages::find_by_name(CUfunction function, const char* name) {
  if (api_->library_get_kernel == nullptr || api_->kernel_get_function == nullptr) return {};
  const LockGuard lock(mutex_);
  for (std::uint32_t i = 0; i < used_; ++i) {
    CUkernel kernel = nullptr;
    CUfunction its_function = nullptr;
    if (images_[i].library != nullptr && api_->library_get_kernel(&kernel, images_[i].library, name) == CUDA_SUCCESS &&
        api_->kernel_get_function(&its_function, kernel) == CUDA_SUCCESS && its_function == function) {
      return {&images_[i], kernel};
    }
  }
  return {};
}

LoadedImages::Kernel LoadedImages::find(CUfunction function, const char* name) {
  std::uint32_t known = owners_.find(key(function));
  Kernel kernel;
  if ((known & 1) != 0) kernel.kernel = reinterpret_cast<CUkernel>(function);
  // If the handle is unknown, the recorder did not see the call that looked up the kernel.
  CUlibrary library = nullptr;
  CUmodule module = nullptr;
  if (known == 0 && api_->kernel_get_library != nullptr &&
      api_->kernel_get_library(&library, reinterpret_cast<CUkernel>(function)) == CUDA_SUCCESS) {
    known = owners_.find(key(library));
    kernel.kernel = reinterpret_cast<CUkernel>(function);
  } else if (known == 0 && api_->func_get_module != nullptr &&
             api_->func_get_module(&module, function) == CUDA_SUCCESS) {
    known = owners_.find(key(module));
  }
  if (known == 0 && kernel.kernel == nullptr) return find_by_name(function, name);
  if (known != 0) kernel.image = &images_[known / 2 - 1];
  return kernel;
}

}  // namespace cudadiag::record
