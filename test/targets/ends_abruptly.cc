// After its failure, the program ends in one of the ways that skip exit handlers.
// Plan: fault kernel=scale nth=3 code=700
#include <unistd.h>

#include <csignal>
#include <exception>
#include <string>

#include "driver.h"

int main(int argc, char** argv) {
  Driver driver;
  CUfunction scale = driver.kernel("scale");
  LAUNCH(scale, nullptr);
  LAUNCH(scale, nullptr);
  LAUNCH(scale, nullptr);  // TRUE LINE
  const CUresult result = cuCtxSynchronize();
  const std::string way = argc > 1 ? argv[1] : "_exit";
  std::printf("%s after %d\n", way.c_str(), result);
  std::fflush(stdout);
  if (way == "_exit") _exit(5);
  if (way == "quick_exit") std::quick_exit(6);
  if (way == "abort") std::abort();
  if (way == "terminate") std::terminate();
  raise(SIGKILL);
}
