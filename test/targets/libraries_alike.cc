// A library is closed, and one of the same code comes to its place in memory: the launch of that one is bad.
// Plan: fault kernel=scale nth=4 code=700
#include <dlfcn.h>

#include <string>

#include "driver.h"

int main(int, char** argv) {
  Driver driver;
  CUstream stream = driver.stream();
  const std::string folder(argv[0], std::string(argv[0]).rfind('/') + 1);
  for (int i = 0; i < 4; ++i) {
    void* library = dlopen((folder + (i < 3 ? "libplugin_first.so" : "libplugin_other.so")).c_str(), RTLD_NOW);
    if (!library) return 2;
    reinterpret_cast<void (*)(CUstream)>(dlsym(library, "step"))(stream);
    if (i < 3) dlclose(library);
  }
  CHECK(cuStreamSynchronize(stream));  // REPORTED LINE
}
