// Four threads allocate and free memory ten thousand times each. Five allocations outlive the threads.
#include <thread>
#include <vector>

#include "driver.h"

static void churn(const Driver& driver) {
  CHECK(cuCtxSetCurrent(driver.context));
  for (int i = 0; i < 10000; ++i) {
    CUdeviceptr memory = 0;
    CHECK(cuMemAllocAsync(&memory, 512, nullptr));
    CHECK(cuMemFreeAsync(memory, nullptr));
  }
}

int main() {
  Driver driver;
  for (std::size_t i = 1; i <= 5; ++i) driver.allocate(4096 * i);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { churn(driver); });
  for (std::thread& thread : threads) thread.join();
  std::puts("done");
}
