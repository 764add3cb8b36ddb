// A library is closed, and one with the same code is loaded at its address. A launch in the second library fails.
// "bare": neither library has code for the device; "nameless": they have no build-id either.
// Plan: fault kernel=scale nth=4 code=700
#include <dlfcn.h>

#include <string>

#include "driver.h"

int main(int argc, char** argv) {
  Driver driver;
  CUstream stream = driver.stream();
  CUfunction scale = driver.kernel("scale");
  const std::string kind = argc > 1 ? std::string("_") + argv[1] : "";
  const std::string plugin = std::string(argv[0], std::string(argv[0]).rfind('/') + 1) + "libplugin" + kind;
  for (int i = 0; i < 4; ++i) {
    void* library = dlopen((plugin + (i < 3 ? "_first.so" : "_other.so")).c_str(), RTLD_NOW);
    if (!library) return 2;
    reinterpret_cast<void (*)(CUstream, CUfunction)>(dlsym(library, "step"))(stream, scale);
    if (i < 3) dlclose(library);
  }
  CHECK(cuStreamSynchronize(stream));  // REPORTED LINE
}
