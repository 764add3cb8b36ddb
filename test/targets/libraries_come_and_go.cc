// One thread keeps loading and unloading a library while others launch. Then a launch fails.
// Plan: fault kernel=scale nth=8001 code=700
#include <dlfcn.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "driver.h"

static void work(const Driver& driver, CUfunction scale) {
  CHECK(cuCtxSetCurrent(driver.context));
  CUstream stream = driver.stream();
  for (int i = 0; i < 2000; ++i) LAUNCH(scale, stream);
  CHECK(cuStreamSynchronize(stream));
}

int main(int, char** argv) {
  const std::string plugin = std::string(argv[0], std::string(argv[0]).rfind('/') + 1) + "libplugin.so";
  Driver driver;
  CUfunction scale = driver.kernel("scale");
  std::atomic<bool> done = false;
  std::thread loader([&] {
    while (!done) {
      if (void* library = dlopen(plugin.c_str(), RTLD_NOW)) dlclose(library);
    }
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work, std::cref(driver), scale);
  for (std::thread& thread : threads) thread.join();
  LAUNCH(scale, nullptr);  // TRUE LINE
  LAUNCH(scale, nullptr);
  done = true;
  loader.join();
  CHECK(cuCtxSynchronize());  // REPORTED LINE
}
