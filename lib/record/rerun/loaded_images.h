// Tracks the device code images that the program has loaded, and which image each kernel comes from. Used only in a
// rerun that saves launches.
//
// If an image is part of a loaded library, it is read from that library's memory. Any other image is copied when it is
// loaded, because the program may free it.
#pragma once

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "record/driver_api.h"
#include "record/libc_substitutes.h"
#include "record/output/id_table.h"
#include "record/rerun/image_reader.h"

namespace cudadiag::record {

// A call that loads device code, after it has succeeded.
struct LoadCall {
  const void* handle = nullptr;  // the new CUlibrary or CUmodule
  const void* code = nullptr;    // the image (image_reader.h); null if the driver read it from `file`
  const char* file = nullptr;
  bool is_library = false;
};
// Returns an empty result for a call that loads no code. `parameters` is CUPTI's structure for the call.
LoadCall load_call(std::uint32_t id, const void* parameters);

class LoadedImages {
 public:
  struct Image {
    ImageExtent extent;
    const char* file = nullptr;  // the file from which the driver read the image, if `extent` is unknown
    CUlibrary library = nullptr;
    CUmodule module = nullptr;
  };
  struct Kernel {
    const Image* image = nullptr;
    CUkernel kernel = nullptr;  // null if the handle is a CUfunction
  };

  void start(const SavingApi& api) { api_ = &api; }

  // Call this at EXIT of a successful call that may load code or look up a kernel.
  void returned(std::uint32_t id, const void* parameters);
  Kernel find(CUfunction function, const char* name);

 private:
  static constexpr std::size_t kMostImages = 16384;
  static constexpr std::uint64_t kMostCopied = std::uint64_t{1} << 30;

  void loaded(const LoadCall& call);
  Image* take(const void* handle, bool is_library);
  void got(const void* handle, const void* owner, bool is_kernel);
  bool keep(ImageExtent& extent);
  void unloaded(const void* library);
  Kernel find_by_name(CUfunction function, const char* name);
  static std::uint64_t key(const void* handle) { return reinterpret_cast<std::uint64_t>(handle) * 0x9e3779b97f4a7c15; }

  const SavingApi* api_ = nullptr;
  Mutex mutex_;
  std::uint32_t used_ = 0;
  std::uint64_t copied_ = 0;
  IdTable<65536> owners_;  // by module, library, kernel or function: 2 * (1 + index), plus 1 for a kernel
  std::array<Image, kMostImages> images_;
};

}  // namespace cudadiag::record
