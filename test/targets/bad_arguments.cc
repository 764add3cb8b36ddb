// Correct: passes invalid pointers to calls that refuse their other arguments, and continues: `bad_arguments WHICH`.
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "driver.h"

int main(int, char** argv) {
  Driver driver;
  const std::string_view which = argv[1];
  auto* const invalid = reinterpret_cast<void*>(std::uintptr_t{16});
  CUmemAccessDesc none{};
  CUresult result = CUDA_SUCCESS;
  if (which == "alloc") result = cuMemAlloc(static_cast<CUdeviceptr*>(invalid), 0);
  if (which == "async") result = cuMemAllocAsync(static_cast<CUdeviceptr*>(invalid), 0, nullptr);
  if (which == "host") result = cuMemHostAlloc(static_cast<void**>(invalid), 0, 0);
  if (which == "access") result = cuMemSetAccess(4096, 4096, nullptr, 1);
  if (which == "count") result = cuMemSetAccess(4096, 4096, &none, std::size_t{1} << 40);
  std::printf("%s returned %d\n", argv[1], static_cast<int>(result));
  return 0;
}
