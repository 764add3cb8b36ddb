// The host changes pinned memory that a copy has yet to read, or only appears to do so: `race_host WHICH`.
// Plan: hold kernel=slow until=notify
#include <atomic>
#include <cstring>
#include <vector>

#include "driver.h"

extern "C" void sim_notify();

constexpr std::size_t kRow = 1000, kPitch = 1024, kRows = 60, kBytes = kPitch * kRows;

static bool is(const char* which, const char* name) { return std::strcmp(which, name) == 0; }

// Writes until the copy arrives. The simulated GPU's memory is host memory, so the program can see the arrival.
static void write_all_the_time(unsigned char* source, CUdeviceptr target) {
  volatile unsigned char* changing = source + kBytes - 1;
  auto* arrived = reinterpret_cast<const std::atomic<unsigned char>*>(target);
  for (unsigned value = 1; arrived->load() == 0; ++value) *changing = static_cast<unsigned char>(value);
}

static void CUDA_CB fill(void* source) { std::memset(source, 3, kBytes); }

static void copy(const char* which, unsigned char* source, CUdeviceptr device, CUstream stream) {
  if (is(which, "rows") || is(which, "beside_rows")) {
    CUDA_MEMCPY2D rows = {};
    rows.srcMemoryType = CU_MEMORYTYPE_HOST;
    rows.srcHost = source;
    rows.srcPitch = kPitch;
    rows.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    rows.dstDevice = device;
    rows.dstPitch = kRow;
    rows.WidthInBytes = kRow;
    rows.Height = kRows;
    CHECK(cuMemcpy2DAsync(&rows, stream));  // ROWS LINE
  } else if (is(which, "batch") || is(which, "batch_at_once")) {
    CUdeviceptr to[] = {device, device + 64}, from[] = {reinterpret_cast<CUdeviceptr>(source), 0};
    from[1] = from[0] + 64;
    std::size_t sizes[] = {64, kBytes - 64}, which_attributes[] = {0};
    CUmemcpyAttributes attributes = {};
    attributes.srcAccessOrder =
        is(which, "batch") ? CU_MEMCPY_SRC_ACCESS_ORDER_STREAM : CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
    CHECK(cuMemcpyBatchAsync(to, from, sizes, 2, &attributes, which_attributes, 1, stream));
  } else {
    CHECK(cuMemcpyHtoDAsync(device, source, is(which, "beside") ? kBytes / 2 : kBytes, stream));  // COPY LINE
  }
}

int main(int, char** arguments) {
  const char* which = arguments[1];
  Driver driver;
  CUfunction slow = driver.kernel("slow");
  CUstream stream = driver.stream();
  CUevent event = nullptr;
  CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  unsigned char* source = nullptr;
  std::vector<unsigned char> own(kBytes, 1);
  if (is(which, "registered") || is(which, "pageable")) {
    source = own.data();
    if (is(which, "registered")) CHECK(cuMemHostRegister(source, kBytes, 0));
  } else {
    const unsigned flags = is(which, "write_combined") ? CU_MEMHOSTALLOC_WRITECOMBINED : 0;
    CHECK(cuMemHostAlloc(reinterpret_cast<void**>(&source), kBytes, flags));  // ALLOCATED LINE
  }
  CUdeviceptr device = driver.allocate(kBytes), other = driver.allocate(kBytes);
  CHECK(cuMemsetD8(device, 0, kBytes));
  CHECK(cuMemsetD8(other, 7, kBytes));
  std::memset(source, 1, kBytes);
  CHECK(cuCtxSynchronize());
  const bool is_late = is(which, "held");
  if (!is_late) LAUNCH(slow, stream);
  if (is(which, "written_by_copy")) CHECK(cuMemcpyDtoHAsync(source, other, kBytes, stream));
  if (is(which, "written_by_function")) CHECK(cuLaunchHostFunc(stream, fill, source));
  if (is(which, "waits_for_word")) CHECK(cuStreamWaitValue32(stream, other, 1, CU_STREAM_WAIT_VALUE_EQ));
  // The recorder keeps each copy only briefly, and meanwhile this thread may not be scheduled.
  for (int again = is_late ? 5 : 1; again > 0; --again) {
    copy(which, source, device, stream);
    if (!is_late) continue;
    write_all_the_time(source, device);
    *reinterpret_cast<unsigned char*>(device) = 0;
  }
  CHECK(cuEventRecord(event, stream));
  if (is(which, "waited")) {
    sim_notify();
    CHECK(cuEventSynchronize(event));
  }
  if (is(which, "read") && source[0] != 1) return 1;
  if (is(which, "beside")) std::memset(source + kBytes / 2, 2, kBytes / 2);
  if (is(which, "beside_rows")) std::memset(source + 50 * kPitch + kRow, 2, kPitch - kRow);
  if (is(which, "rows")) std::memset(source + 50 * kPitch, 2, 64);
  for (const char* all : {"refilled", "registered", "pageable", "write_combined", "batch", "batch_at_once", "waited"}) {
    if (is(which, all)) std::memset(source + 100, 2, 1000);
  }
  if (is(which, "waits_for_word")) {
    std::memset(source, 2, kBytes);
    CHECK(cuMemsetD32(other, 1, 1));
  }
  sim_notify();
  CHECK(cuCtxSynchronize());
  std::puts("done");
}
