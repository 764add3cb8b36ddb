// `race_memory WHICH`: copies, slices and stream-ordered memory on two streams.
#include <cstring>

#include "driver.h"

namespace {

constexpr std::size_t kHalf = 1 << 16;

struct Program : Driver {
  explicit Program(const char* which) : which_(which) {}

  bool is(const char* name) const { return std::strcmp(which_, name) == 0; }

  void* pinned() {
    void* host = nullptr;
    CHECK(cuMemHostAlloc(&host, kHalf, 0));
    return host;
  }

  void batch() {
    CUdeviceptr to[] = {other, buffer}, from[] = {other + kHalf, other + kHalf};
    std::size_t sizes[] = {64, kHalf}, which_attributes[] = {0};
    CUmemcpyAttributes attributes = {};
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    CHECK(cuMemcpyBatchAsync(to, from, sizes, 2, &attributes, which_attributes, 1, a));
    CHECK(cuMemsetD8Async(buffer + (is("batch_of_halves") ? kHalf : kHalf - 1), 0, kHalf, b));
  }

  // Both buffers are sources of one batch, each with its own attribute. A memset of the first buffer is still queued.
  void batch_after_write() {
    CUdeviceptr to[] = {other, other + 64}, from[] = {buffer, buffer + kHalf};
    std::size_t sizes[] = {64, 64}, which_attributes[] = {0, 1};
    CUmemcpyAttributes attributes[2] = {};
    attributes[0].srcAccessOrder = is("any_order")     ? CU_MEMCPY_SRC_ACCESS_ORDER_ANY
                                   : is("during_call") ? CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL
                                                       : CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    attributes[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
    CHECK(cuMemsetD8Async(buffer, 0, 64, a));  // WRITTEN LINE
    if (is("any_order_after_wait")) {
      attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
      CHECK(cuStreamSynchronize(a));
    }
    CHECK(cuMemcpyBatchAsync(to, from, sizes, 2, attributes, which_attributes, 2, a));  // BATCH LINE
    CHECK(cuMemsetD8Async(buffer, 0, 2 * kHalf, a));
  }

  void copied_on_host() {  // the host waits for the copy, and so for the memset
    void *from = pinned(), *to = pinned();
    CHECK(cuMemsetD8Async(buffer, 0, kHalf, a));
    CHECK(cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(to), reinterpret_cast<CUdeviceptr>(from), kHalf, a));
    CHECK(cuMemsetD8Async(buffer, 0, kHalf, b));
  }

  void used_at_once() {
    const auto host = reinterpret_cast<CUdeviceptr>(pinned());
    if (is("copied_to_device")) CHECK(cuMemcpy(buffer, host, kHalf));
    if (is("copied_by_address")) CHECK(cuMemcpyDtoD(buffer, host, kHalf));
    if (is("pinned_set")) CHECK(cuMemsetD8(host, 0, kHalf));
    CHECK(cuMemsetD8Async(is("pinned_set") ? host : buffer, 0, kHalf, b));
  }

  void freed_without_waiting() {
    CUdeviceptr memory = 0;
    CHECK(cuMemAllocAsync(&memory, kHalf, a));
    CHECK(cuMemsetD8Async(buffer, 0, kHalf, a));
    CHECK(cuMemFree(memory));
    CHECK(cuMemsetD8Async(buffer, 0, kHalf, b));
  }

  void freed() {  // memory that was allocated on stream a and is used on stream b
    CUdeviceptr memory = 0;
    CHECK(cuMemAllocAsync(&memory, kHalf, a));
    CHECK(cuEventRecord(event, a));
    CHECK(cuStreamWaitEvent(b, event, 0));
    CHECK(cuMemsetD8Async(memory + 64, 0, 64, b));
    CHECK(cuEventRecord(event, b));
    if (is("freed_after_use")) CHECK(cuStreamWaitEvent(a, event, 0));
    CHECK(cuMemFreeAsync(memory, a));
  }

  const char* which_;
  CUstream a = stream(), b = stream();
  CUdeviceptr buffer = allocate(2 * kHalf), other = allocate(2 * kHalf);
  CUevent event = nullptr;
};

}  // namespace

int main(int, char** arguments) {
  Program program(arguments[1]);
  const auto is = [&](const char* name) { return program.is(name); };
  const CUdeviceptr buffer = program.buffer, other = program.other;
  const CUstream a = program.a, b = program.b;
  CHECK(cuEventCreate(&program.event, CU_EVENT_DISABLE_TIMING));
  if (is("slices") || is("overlapping_slices")) {
    CHECK(cuMemcpyDtoDAsync(buffer, other, kHalf, a));
    CHECK(cuMemcpyDtoDAsync(buffer + (is("slices") ? kHalf : kHalf - 1), other + kHalf, kHalf, b));
  } else if (is("batch_of_halves") || is("overlapping_batch")) {
    program.batch();
  } else if (is("any_order") || is("during_call") || is("in_order") || is("any_order_after_wait")) {
    program.batch_after_write();
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
    CHECK(cuMemcpyDtoHAsync(program.pinned(), buffer, kHalf, a));
    CHECK(cuMemsetD8Async(buffer, 0, kHalf, b));
  } else if (is("copied_on_device")) {  // the host does not wait for the copy
    CHECK(cuMemcpy(buffer, other, kHalf));
    CHECK(cuMemsetD8Async(buffer, 0, kHalf, b));
  } else if (is("copied_on_host")) {
    program.copied_on_host();
  } else if (is("copied_to_device") || is("copied_by_address") || is("pinned_set")) {
    program.used_at_once();
  } else if (is("freed_without_waiting")) {
    program.freed_without_waiting();
  } else {  // freed_in_use, freed_after_use
    program.freed();
  }
  CHECK(cuCtxSynchronize());
  std::puts("done");
}
