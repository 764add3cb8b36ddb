// Runs a test case in a child process, because each case needs a new driver, and a process can have only one. The child
// returns the case's result through a pipe.
#pragma once

#include <cuda.h>
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <type_traits>

template <typename Found>
Found in_child(const char* plan, Found (*body)()) {
  static_assert(std::is_trivially_copyable_v<Found>);
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    setenv("CUDADIAG_SIM_PLAN", plan, 1);
    const Found found = body();
    _exit(write(ends[1], &found, sizeof found) == static_cast<ssize_t>(sizeof found) ? 0 : 1);
  }
  close(ends[1]);
  Found found{};
  const ssize_t size = read(ends[0], &found, sizeof found);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  REQUIRE(status == 0);
  REQUIRE(size == static_cast<ssize_t>(sizeof found));
  return found;
}

// A context, a module, and one word of pinned memory per stream for its markers.
struct Rig {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUstream streams[3] = {};
  unsigned int* slots = nullptr;

  Rig() {
    cuInit(0);
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxSetCurrent(context);
    cuModuleLoadData(&module, "image");
    for (CUstream& stream : streams) cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    void* memory = nullptr;
    cuMemHostAlloc(&memory, 4096, CU_MEMHOSTALLOC_DEVICEMAP);
    slots = static_cast<unsigned int*>(memory);
  }

  CUfunction kernel(const char* name) const {
    CUfunction function = nullptr;
    cuModuleGetFunction(&function, module, name);
    return function;
  }

  CUresult launch(const char* name, int stream) const {
    return cuLaunchKernel(kernel(name), 1, 1, 1, 32, 1, 1, 0, streams[stream], nullptr, nullptr);
  }

  CUresult mark(int stream, unsigned int value) const {
    return cuStreamWriteValue32(streams[stream], reinterpret_cast<CUdeviceptr>(&slots[stream]), value, 0);
  }

  void launch_marked(const char* name, int stream, unsigned int count) const {
    for (unsigned int i = 1; i <= count; ++i) {
      launch(name, stream);
      mark(stream, i);
    }
  }
};
