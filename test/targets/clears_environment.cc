// Executes itself again with an empty environment, so that no variable requests the injection.
#include <unistd.h>

#include "driver.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    clearenv();
    execl("/proc/self/exe", argv[0], "again", nullptr);
    return 2;
  }
  Driver driver;
  CHECK(LAUNCH(driver.kernel("fill"), nullptr));
  CHECK(cuCtxSynchronize());
  std::puts("done");
}
