// The few driver calls that doctor's children make, opened at run time.
#pragma once

#include <dlfcn.h>

namespace cudadiag::command {

class CudaCalls {
 public:
  CudaCalls() : library_(::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {}
  bool loaded() const { return library_ != nullptr; }

  // cuda.get<decltype(cuInit)>("cuInit"); null where the driver has none.
  template <typename Function>
  Function* get(const char* name) const {
    return reinterpret_cast<Function*>(::dlsym(library_, name));
  }

 private:
  void* library_;
};

}  // namespace cudadiag::command
