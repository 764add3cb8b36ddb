// A library that the host program opens while it runs.
__global__ void far_store(int* p) { p[threadIdx.x + (1ull << 40)] = 1; }

extern "C" void solve(int* p) {
  far_store<<<1, 32>>>(p);  // TRUE LINE
}
