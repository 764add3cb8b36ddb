// The entry points of the driver and the runtime that the recorder can replace. Each has a wrapper of the same type.
// The wrapper calls the original function, and reports the call to the recorder before and after it.
//
// An exported name denotes one version of a function, and thus one type. cuGetProcAddress may return a different
// version for the same plain name. A look-up therefore returns a wrapper only if it found exactly the function that the
// wrapper calls.
#pragma once

#include <cstdint>
#include <span>

namespace cudadiag::record {

struct EntryPoint {
  const char* name;    // as libcuda exports it: "cuMemAlloc_v2"
  std::uint32_t call;  // its CUPTI callback id
  void* wrapper;
  void** original;  // points to null if this driver does not have the function
};

std::span<const EntryPoint> driver_entry_points();
// Returns the entry points of a libcudart.so. A runtime that is linked into the program has none.
std::span<const EntryPoint> runtime_entry_points();

}  // namespace cudadiag::record
