// The kernel comes from a library opened at run time; the program itself only waits for it.
#include <dlfcn.h>

#include <cstdio>

int main(int, char** argv) {
  int* p;
  cudaMalloc(&p, 4096);
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  auto solve = library ? reinterpret_cast<void (*)(int*)>(dlsym(library, "solve")) : nullptr;
  if (!solve) return printf("%s\n", dlerror()), 2;
  solve(p);
  cudaError_t e = cudaDeviceSynchronize();  // BLAMED
  printf("%s\n", cudaGetErrorName(e));
  return e != cudaSuccess;
}
