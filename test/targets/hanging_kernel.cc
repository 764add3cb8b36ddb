// A kernel never finishes, and the program does not wait for it.
// Plan: hang kernel=spin
#include "driver.h"

int main() {
  Driver driver;
  CHECK(LAUNCH(driver.kernel("spin"), driver.stream()));
  std::puts("done");
}
