// Uses CUDA, then forks. The child uses CUDA ("uses"), queries devices ("asks"), frees memory ("frees"), or uses no
// CUDA.
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "runtime.h"

static void* memory = nullptr;

static int child(const std::string& way) {
  int devices = 0;
  if (way == "asks") return cudaGetDeviceCount(&devices) == cudaSuccess ? 9 : 0;
  if (way == "frees") return cudaFree(memory) == cudaSuccess ? 9 : 0;
  if (way == "nothing") return 0;
  const cudaError_t first = cudaMalloc(&memory, 4096);  // TRUE LINE
  if (cudaDeviceSynchronize() != cudaSuccess) std::printf("child: %s\n", cudaGetErrorName(first));
  return first == cudaSuccess ? 0 : 5;
}

int main(int, char** argv) {
  if (cudaMalloc(&memory, 64) != cudaSuccess) return 8;
  const pid_t pid = fork();  // FORK LINE
  if (pid == 0) {
    const int status = child(argv[1]);
    std::fflush(stdout);
    _exit(status);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WEXITSTATUS(status);
}
