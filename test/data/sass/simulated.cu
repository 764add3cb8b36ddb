// Kernels for the simulated driver, which reads the sizes of their parameters from their names.
extern "C" __global__ void write__8(float* to) { to[threadIdx.x] = 1; }
extern "C" __global__ void copy__8_8(float* to, const float* from) { to[threadIdx.x] = from[threadIdx.x]; }
extern "C" __global__ void count__8(int* to) { atomicAdd(to + threadIdx.x % 4, 1); }
extern "C" __global__ void part__8_4(float* to, int from) { to[from + threadIdx.x] = 1; }
extern "C" __global__ void part__8_8(float* to, long from) { to[from + threadIdx.x] = 1; }
struct Kept { long a[6]; float* used; long b[4]; float* unused; };
extern "C" __global__ void kept__96(Kept all) { all.used[threadIdx.x] = 1; }
