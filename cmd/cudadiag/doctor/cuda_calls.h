// The few driver functions that the child processes of `cudadiag doctor` call, looked up at run time.
#pragma once

#include <dlfcn.h>

namespace cudadiag::command {

class CudaCalls {
 public:
  CudaCalls() : library_(::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {}
  bool loaded() const { return library_ != nullptr; }

  // Usage: cuda.get<decltype(cuInit)>("cuInit"). Returns null if the driver has no such function.
  template <typename Function>
  Function* get(const char* name) const {
    return reinterpret_cast<Function*>(::dlsym(library_, name));
  }

 private:
  void* library_;
};

}  // namespace cudadiag::command
