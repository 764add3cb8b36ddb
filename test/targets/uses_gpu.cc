// Uses the GPU, then waits until the file that its first argument names has no writer, and exits with the status in its
// second argument. With a third argument, executes itself first, with only the variables that the simulated driver needs.
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "driver.h"

int main(int argc, char** argv) {
  if (argc > 3) {
    std::vector<std::string> kept;
    for (const char* name : {"LD_LIBRARY_PATH", "CUDADIAG_SIM_PLAN"}) {
      if (const char* value = getenv(name)) kept.push_back(std::string(name) + "=" + value);
    }
    std::vector<char*> environment;
    for (std::string& variable : kept) environment.push_back(variable.data());
    environment.push_back(nullptr);
    char* arguments[] = {argv[0], argv[1], argv[2], nullptr};
    execve("/proc/self/exe", arguments, environment.data());
    return 2;
  }
  Driver driver;
  CHECK(LAUNCH(driver.kernel("fill"), nullptr));
  CHECK(cuCtxSynchronize());
  // The writer may be gone already. Without O_NONBLOCK, open would wait for another one.
  const int gate = open(argv[1], O_RDONLY | O_NONBLOCK);
  fcntl(gate, F_SETFL, 0);
  char byte = 0;
  while (read(gate, &byte, 1) > 0) continue;
  return std::atoi(argv[2]);
}
