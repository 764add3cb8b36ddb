// A library that starts after CUDA keeps a stream for each thread. When the thread ends, the library waits for the
// stream and destroys it. With an argument, it also has its own context, and only it sees that a launch failed.
// Plan: fault kernel=scale nth=1 code=700
#include <pthread.h>

#include <cstring>
#include <thread>

#include "driver.h"

struct Own {
  CUcontext context;
  CUstream stream;
};

static CUresult create_context(CUcontext& context) {
#if CUDA_VERSION >= 13000
  return cuCtxCreate(&context, nullptr, 0, 0);
#else
  return cuCtxCreate(&context, 0, 0);
#endif
}

// Overwrites freed memory in which the driver kept data about this thread.
static void use_memory() {
  for (int i = 0; i < 20; ++i) {
    for (std::size_t bytes = 16; bytes < 1024; bytes += 8) std::memset(std::malloc(bytes), 0, bytes);
  }
}

static void thread_ends(void* raw) {
  const auto* own = static_cast<const Own*>(raw);
  std::printf("at the thread's end: %d", cuStreamSynchronize(own->stream));
  std::printf(", %d", cuStreamDestroy(own->stream));
  std::printf(", %d\n", own->context ? cuCtxDestroy(own->context) : 0);
  use_memory();
}

int main(int argc, char**) {
  const Driver driver;
  const bool fails = argc > 1;
  pthread_key_t key;
  pthread_key_create(&key, thread_ends);
  Own own{};
  std::thread thread([&] {
    if (fails) {
      CHECK(create_context(own.context));
    } else {
      CHECK(cuCtxSetCurrent(driver.context));
    }
    CUmodule module = nullptr;
    CUfunction kernel = nullptr;
    CHECK(cuModuleLoadData(&module, "target"));
    CHECK(cuModuleGetFunction(&kernel, module, fails ? "scale" : "fill"));
    own.stream = driver.stream();
    pthread_setspecific(key, &own);
    for (int i = 0; i < (fails ? 1 : 43); ++i) CHECK(LAUNCH(kernel, own.stream));  // TRUE LINE
  });
  thread.join();
  return fails ? 1 : 0;
}
