// A kernel that keeps its stream busy for a bounded time.
#pragma once

__global__ void spin(int* p, unsigned long long nanoseconds) {
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (now - start < nanoseconds);
  p[threadIdx.x] = 1;
}
