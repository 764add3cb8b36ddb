// Code that runs at exit uses CUDA: a handler, a destructor, or a host function that ends the program.
#include <dlfcn.h>

#include <string>

#include "driver.h"

static CUfunction last;

static void launch(const char* from) { std::fprintf(stderr, "%s: %d\n", from, LAUNCH(last, nullptr)); }

struct Owner {
  CUdeviceptr memory = 0;
  ~Owner() {
    if (memory != 0) std::fprintf(stderr, "destructor: %d\n", cuMemFree(memory));
  }
};
static Owner owner;

int main(int, char** argv) {
  const std::string way = argv[1];
  std::printf("%s\n", argv[1]);
  Driver driver;
  last = driver.kernel("last");
  if (way == "destructor") owner.memory = driver.allocate(64);
  if (way == "handler") std::atexit([] { launch("handler"); });
  if (way == "reset") std::atexit([] { std::fprintf(stderr, "reset: %d\n", cuDevicePrimaryCtxReset(0)); });
  if (way == "again") std::atexit([] { std::exit(9); });
  if (way == "host_function") {
    CHECK(cuLaunchHostFunc(
        nullptr, [](void*) { std::exit(10); }, nullptr));
    CHECK(cuCtxSynchronize());
  }
  if (way == "library") {
    static void* const library = dlopen("libplugin.so", RTLD_NOW);
    std::atexit([] { launch("library"), dlclose(library); });
  }
  return 8;
}
