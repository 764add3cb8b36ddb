// Copies, slices and stream-ordered memory on two streams, `race_memory WHICH`.
#include <cstring>

#include "driver.h"

int main(int, char** arguments) {
  const char* which = arguments[1];
  const auto is = [which](const char* name) { return std::strcmp(which, name) == 0; };
  Driver driver;
  CUstream a = driver.stream(), b = driver.stream();
  constexpr std::size_t kHalf = 1 << 16;
  CUdeviceptr buffer = driver.allocate(2 * kHalf), other = driver.allocate(2 * kHalf);
  CUevent event = nullptr;
  CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  if (is("slices") || is("overlapping_slices")) {
    CHECK(cuMemcpyDtoDAsync(buffer, other, kHalf, a));
    CHECK(cuMemcpyDtoDAsync(buffer + (is("slices") ? kHalf : kHalf - 1), other + kHalf, kHalf, b));
  } else if (is("batch_of_halves") || is("overlapping_batch")) {
    CUdeviceptr to[] = {other, buffer}, from[] = {other + kHalf, other + kHalf};
    std::size_t sizes[] = {64, kHalf}, which_attributes[] = {0};
    CUmemcpyAttributes attributes = {};
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    CHECK(cuMemcpyBatchAsync(to, from, sizes, 2, &attributes, which_attributes, 1, a));
    CHECK(cuMemsetD8Async(buffer + (is("batch_of_halves") ? kHalf : kHalf - 1), 0, kHalf, b));
  } else if (is("two_readers")) {
    CHECK(cuMemcpyDtoDAsync(buffer, other, 64, a));
    CHECK(cuMemcpyDtoDAsync(buffer + kHalf, other, 64, b));
  } else if (is("pageable")) {
    static char host[kHalf];
    CHECK(cuMemcpyDtoHAsync(host, buffer, kHalf, a));
    CHECK(cuMemsetD8Async(buffer, 0, kHalf, b));
  } else if (is("pageable_by_address")) {
    static char host[kHalf];
    CHECK(cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(host), buffer, kHalf, a));
    CHECK(cuMemsetD8Async(buffer, 0, kHalf, b));
  } else if (is("pinned")) {
    void* host = nullptr;
    CHECK(cuMemHostAlloc(&host, kHalf, 0));
    CHECK(cuMemcpyDtoHAsync(host, buffer, kHalf, a));
    CHECK(cuMemsetD8Async(buffer, 0, kHalf, b));
  } else if (is("copied_on_device")) {  // which no host waits for
    CHECK(cuMemcpy(buffer, other, kHalf));
    CHECK(cuMemsetD8Async(buffer, 0, kHalf, b));
  } else if (is("copied_on_host")) {  // which the host waits for, and so for the memset
    void *from = nullptr, *to = nullptr;
    CHECK(cuMemHostAlloc(&from, kHalf, 0));
    CHECK(cuMemHostAlloc(&to, kHalf, 0));
    CHECK(cuMemsetD8Async(buffer, 0, kHalf, a));
    CHECK(cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(to), reinterpret_cast<CUdeviceptr>(from), kHalf, a));
    CHECK(cuMemsetD8Async(buffer, 0, kHalf, b));
  } else if (is("copied_to_device") || is("copied_by_address") || is("pinned_set")) {
    void* host = nullptr;
    CHECK(cuMemHostAlloc(&host, kHalf, 0));
    const auto pinned = reinterpret_cast<CUdeviceptr>(host);
    if (is("copied_to_device")) CHECK(cuMemcpy(buffer, pinned, kHalf));
    if (is("copied_by_address")) CHECK(cuMemcpyDtoD(buffer, pinned, kHalf));
    if (is("pinned_set")) CHECK(cuMemsetD8(pinned, 0, kHalf));
    CHECK(cuMemsetD8Async(is("pinned_set") ? pinned : buffer, 0, kHalf, b));
  } else if (is("freed_without_waiting")) {
    CUdeviceptr memory = 0;
    CHECK(cuMemAllocAsync(&memory, kHalf, a));
    CHECK(cuMemsetD8Async(buffer, 0, kHalf, a));
    CHECK(cuMemFree(memory));
    CHECK(cuMemsetD8Async(buffer, 0, kHalf, b));
  } else {  // freed_in_use, freed_after_use: memory of stream a, used by b
    CUdeviceptr memory = 0;
    CHECK(cuMemAllocAsync(&memory, kHalf, a));
    CHECK(cuEventRecord(event, a));
    CHECK(cuStreamWaitEvent(b, event, 0));
    CHECK(cuMemsetD8Async(memory + 64, 0, 64, b));
    CHECK(cuEventRecord(event, b));
    if (is("freed_after_use")) CHECK(cuStreamWaitEvent(a, event, 0));
    CHECK(cuMemFreeAsync(memory, a));
  }
  CHECK(cuCtxSynchronize());
  std::puts("done");
}
