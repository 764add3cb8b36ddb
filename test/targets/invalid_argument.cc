// The driver rejects a copy to memory outside all allocations.
#include "driver.h"

int main() {
  Driver driver;
  int value = 1;
  CHECK(cuMemcpyHtoD(driver.allocate(64), &value, sizeof value));
  CHECK(cuMemcpyHtoD(0x1000, &value, sizeof value));  // TRUE LINE
  std::puts("done");
}
