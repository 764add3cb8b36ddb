// One thread continues after a rejected call. Another thread exits the program after a later rejected call, which is
// recorded in the slot of the first call.
#include <future>
#include <thread>

#include "driver.h"

static void refuse(int times) {
  int value = 1;
  for (int i = 0; i < times; ++i) {
    if (cuMemcpyHtoD(0x1000, &value, sizeof value) == CUDA_SUCCESS) std::puts("not refused");
  }
}

int main() {
  Driver driver;
  CUfunction fill = driver.kernel("fill");
  std::promise<void> refused, died;
  refuse(128);
  std::thread other([&] {
    CHECK(cuCtxSetCurrent(driver.context));
    refuse(1);
    refused.set_value();
    died.get_future().wait();
    CHECK(LAUNCH(fill, nullptr));
  });
  refused.get_future().wait();
  refuse(127);
  int value = 1;
  const CUresult last = cuMemcpyHtoD(0x2000, &value, sizeof value);  // TRUE LINE
  died.set_value();
  other.join();
  CHECK(last);
}
