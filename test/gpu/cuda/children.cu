// The parent does nothing wrong: ./children fork fails in a forked child, ./children exec in a program that it starts.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>

__global__ void fill(int* p) { p[threadIdx.x] = 1; }
__global__ void far_store(int* p) { p[threadIdx.x + (1ull << 40)] = 1; }

int fail() {
  int* p;
  cudaMalloc(&p, 4096);
  far_store<<<1, 32>>>(p);                                // TRUE LINE
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 3;  // BLAMED
}

int main(int argc, char** argv) {
  std::string how = argc > 1 ? argv[1] : "";
  if (how == "child") return fail();
  pid_t child = 0;
  if (how == "fork") {
    child = fork();
    if (child == 0) return fail();
  }
  int *p, status = 0;  // no CUDA before this line: forking after CUDA is initialised is an error
  cudaMalloc(&p, 4096);
  fill<<<1, 32>>>(p);
  char word[] = "child", *arguments[] = {argv[0], word, nullptr};
  if (how == "exec" && posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments, environ)) return 2;
  waitpid(child, &status, 0);
  printf("parent %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 4;
}
