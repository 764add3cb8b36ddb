// The failing launch is in a library opened with dlopen, in the program's folder.
// Plan: fault kernel=scale nth=2 code=700
#include <dlfcn.h>

#include <string>

#include "driver.h"

int main(int, char** argv) {
  Driver driver;
  const std::string folder(argv[0], std::string(argv[0]).rfind('/') + 1);
  void* library = dlopen((folder + "libplugin.so").c_str(), RTLD_NOW);
  if (!library) return 2;
  reinterpret_cast<void (*)(CUstream)>(dlsym(library, "smooth"))(driver.stream());
  CHECK(cuCtxSynchronize());  // REPORTED LINE
  std::puts("done");
}
