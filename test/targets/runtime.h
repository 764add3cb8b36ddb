// The common part of all runtime-API targets: a host stub, registered as in code that nvcc generates.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>

extern "C" void** __cudaRegisterFatBinary(void*);
extern "C" void __cudaRegisterFunction(void**, const char*, char*, const char*, int, void*, void*, void*, void*, int*);

#define KERNEL(name)                                                                                                   \
  static void name() { std::printf("%s has no host body\n", #name); }                                                  \
  static const bool name##_registered = [] {                                                                           \
    __cudaRegisterFunction(__cudaRegisterFatBinary(nullptr), reinterpret_cast<const char*>(&name), nullptr, #name, -1, \
                           nullptr, nullptr, nullptr, nullptr, nullptr);                                               \
    return true;                                                                                                       \
  }()

#define LAUNCH(kernel, grid, block) \
  cudaLaunchKernel(reinterpret_cast<const void*>(&kernel), grid, block, nullptr, 0, nullptr)
