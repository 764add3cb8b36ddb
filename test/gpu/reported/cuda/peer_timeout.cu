// A kernel waits for the flag of a peer that never comes. After a time it prints a message and stops itself.
#include <cstdio>

__global__ void send(int* flags, int peer) { atomicExch(flags + peer, 1); }

__global__ void receive(volatile int* flags, int peers, long long patience, int* received) {
  int peer = threadIdx.x;
  if (peer >= peers) return;
  long long start = clock64();
  while (flags[peer] == 0) {
    if (clock64() - start > patience) {
      printf("timeout: peer %d, value %d\n", peer, flags[peer]);
      __trap();
    }
  }
  atomicAdd(received, 1);
}

int main() {
  const int peers = 8;
  int *flags, *received;
  cudaMalloc(&flags, peers * sizeof(int));
  cudaMalloc(&received, sizeof(int));
  cudaMemset(received, 0, sizeof(int));
  for (int missing : {peers, 5}) {
    cudaMemset(flags, 0, peers * sizeof(int));
    for (int peer = 0; peer < peers; peer++) {
      if (peer != missing) send<<<1, 1>>>(flags, peer);
    }
    receive<<<1, 32>>>(flags, peers, 300'000'000, received);  // LAUNCH
    if (cudaDeviceSynchronize() != cudaSuccess) return missing == peers ? 77 : 1;
  }
  return 0;
}
