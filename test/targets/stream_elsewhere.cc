// A stream of one device's context is used and waited for while another device's context is current, as in copies
// between devices. The recorder must count one stream, and none once the stream is destroyed.
// Plan: devices=2
#include "driver.h"

int main() {
  Driver driver;
  CUcontext other = nullptr;
  CHECK(cuDevicePrimaryCtxRetain(&other, 1));
  CHECK(cuCtxSetCurrent(other));
  driver.stream();
  CHECK(cuCtxSetCurrent(driver.context));
  CUstream stream = driver.stream();
  CUdeviceptr memory = driver.allocate(4096);
  CHECK(cuMemsetD8Async(memory, 1, 4096, stream));
  CHECK(cuCtxSetCurrent(other));
  CHECK(cuMemcpyDtoDAsync(memory, memory + 2048, 64, stream));
  CHECK(cuCtxSetCurrent(driver.context));
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuStreamDestroy(stream));
  std::puts("done");
}
