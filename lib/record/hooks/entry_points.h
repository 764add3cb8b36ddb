// The driver's and the runtime's entry points that the recorder can replace: for each a wrapper of the same type, which
// reports the call before and after it, and the driver's own function, which the wrapper calls.
//
// A name stands for one version of a function and thus for one type: cuGetProcAddress may give another version for the
// same plain name. A wrapper is therefore handed out only for an address that is the one of its own name.
#pragma once

#include <cstdint>
#include <span>

namespace cudadiag::record {

struct EntryPoint {
  const char* name;    // as libcuda exports it: "cuMemAlloc_v2"
  std::uint32_t call;  // CUPTI's id of it
  void* wrapper;
  void** original;  // null: this driver has no such function
};

std::span<const EntryPoint> driver_entry_points();
// Entry points of a libcudart.so. A runtime that is linked into the program has none.
std::span<const EntryPoint> runtime_entry_points();

}  // namespace cudadiag::record
