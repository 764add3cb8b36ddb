// A forked child uses CUDA; with the argument "both", the parent uses it afterwards, too.
// Plan: fault kernel=scale nth=1 code=700
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "driver.h"

static int compute(const char* name) {
  Driver driver;
  CUfunction kernel = driver.kernel(name);
  LAUNCH(kernel, nullptr);    // TRUE LINE
  CHECK(cuCtxSynchronize());  // REPORTED LINE
  return 0;
}

int main(int argc, char** argv) {
  const pid_t child = fork();
  if (child == 0) return compute("scale");
  int status = 0;
  waitpid(child, &status, 0);
  if (argc > 1 && std::strcmp(argv[1], "both") == 0) compute("fill");
  return WEXITSTATUS(status);
}
