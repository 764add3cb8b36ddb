// Correct: a CUDA program forks children that never use CUDA; one of them executes another program.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

__global__ void add(int* p) { atomicAdd(p, 1); }

int main() {
  int *p, host = 0, good = 0;
  cudaMalloc(&p, sizeof *p), cudaMemset(p, 0, sizeof *p);
  for (int i = 0; i < 10; i++) {
    for (int j = 0; j < 100; j++) add<<<1, 1>>>(p);
    pid_t child = fork();
    if (child == 0 && i == 0) execlp("true", "true", nullptr);
    if (child == 0) _exit(i);
    int status = 0;
    waitpid(child, &status, 0);
    good += WIFEXITED(status) && WEXITSTATUS(status) == i;
  }
  cudaMemcpy(&host, p, sizeof host, cudaMemcpyDeviceToHost);
  printf("%d adds, %d children: %s\n", host, good, cudaGetErrorName(cudaGetLastError()));
  return host != 1000 || good != 10;
}
