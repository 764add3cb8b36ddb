// Kernels whose addresses are sums of thread and block indices, and similar kernels whose addresses are not.
#define KERNEL extern "C" __global__ void
KERNEL add(const float* a, const float* b, float* c, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) c[i] = a[i] + b[i]; }
KERNEL fill(float* a, int n) { for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) a[i] = 1; }
KERNEL image(const float* a, float* b, int width, int height, int pitch) { int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y; if (x < width && y < height) b[y * pitch + x] = a[y * pitch + x] * 2; }
KERNEL vec(float4* __restrict__ a, const float4* __restrict__ b, long n) { long i = blockIdx.x * (long)blockDim.x + threadIdx.x; if (i < n) { float4 v = b[i]; v.x += 1; a[i] = v; } }
KERNEL column(float* a, int n, int stride) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i * stride] = 1; }
KERNEL rows(const float* a, float* b, int columns) { for (int c = threadIdx.x; c < columns; c += blockDim.x) b[blockIdx.x * columns + c] = a[blockIdx.x * columns + c] + 1; }
KERNEL part(float* a, int begin, int count) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < count) a[begin + i] += 1; }
KERNEL stencil(const float* a, float* b, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i > 0 && i < n - 1) b[i] = a[i - 1] + a[i + 1]; }
KERNEL transpose(const float* a, float* b, int width, int height) { __shared__ float tile[32][33]; int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y; for (int j = 0; j < 32; j += 8) if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = a[(y + j) * width + x]; __syncthreads(); x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y; for (int j = 0; j < 32; j += 8) if (x < height && y + j < width) b[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j]; }
KERNEL partial(const float* a, float* sums, int n) { __shared__ float s[256]; int t = threadIdx.x, i = blockIdx.x * 256 + t; s[t] = i < n ? a[i] : 0; __syncthreads(); for (int d = 128; d > 0; d >>= 1) { if (t < d) s[t] += s[t + d]; __syncthreads(); } if (t == 0) sums[blockIdx.x] = s[0]; }
KERNEL maybe(const float* mask, float* b, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n && mask[i] > 0) b[i] = 1; }
KERNEL gather(const float* table, const int* index, float* b, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) b[i] = table[index[i]]; }
KERNEL clamped(float* a, int last) { int i = min((int)(threadIdx.x + blockIdx.x * blockDim.x), last); a[i] = 1; }
KERNEL divided(float* a, int n, int width, int pitch) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i / width * pitch + i % width] = 1; }
KERNEL count(int* bins, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) atomicAdd(&bins[blockIdx.x], 1); }
KERNEL triangle(float* a, int n) { int i = threadIdx.x; if (i < n) for (int j = 0; j <= i; ++j) a[i * n + j] = 1; }
KERNEL bytes(char* to, const char* from, unsigned long n) { unsigned long i = blockIdx.x * (unsigned long)blockDim.x + threadIdx.x; if (i < n) to[i] = from[i]; }
struct Pack { int n; float* data[3]; float scale; };
KERNEL packed(Pack p) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < p.n) p.data[0][i] = p.data[1][i] * p.scale + p.data[2][i]; }
KERNEL tail(const float* a, float* b, int n) { int base = blockIdx.x * 1024, left = n - base; if (left >= 1024) { float4 v = ((const float4*)(a + base))[threadIdx.x]; v.x += 1; ((float4*)(b + base))[threadIdx.x] = v; } else { for (int k = 0; k < 4; ++k) { int i = threadIdx.x + k * 256; if (i < left) b[base + i] = a[base + i] + 1; } } }
KERNEL warps(float* a, int n) { int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, row = blockIdx.x * 8 + warp; for (int c = lane; c < n; c += 32) a[row * n + c] = 1; }
KERNEL volume(float* a, int nx, int ny, int nz) { int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z; if (x < nx && y < ny && z < nz) a[((long)z * ny + y) * nx + x] = 1; }
KERNEL walk(const float* a, float* b, long n) { const float* p = a + blockIdx.x * n; const float* e = p + n; float s = 0; while (p < e) s += *p++; b[blockIdx.x] = s; }
__device__ __noinline__ void put(float* p, float v) { *p = v; }
KERNEL called(float* a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) put(a + i, i); }
KERNEL two(float* a, float* b, int n, int which) { int i = blockIdx.x * blockDim.x + threadIdx.x; float* p = which ? a : b; if (i < n) p[i] = 1; }
KERNEL until(const int* a, float* b, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; int k = 0; while (a[i + k] != 0) ++k; b[i] = k; }
KERNEL dot(const float* a, const float* b, float* c, int n, int k) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; float s = 0; for (int j = 0; j < k; ++j) s += a[i * k + j] * b[j]; c[i] = s; }
KERNEL multiply(const float* a, const float* b, float* c, int n) { __shared__ float x[16][16], y[16][16]; int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx; float s = 0; for (int k = 0; k < n / 16; ++k) { x[ty][tx] = a[row * n + k * 16 + tx]; y[ty][tx] = b[(k * 16 + ty) * n + col]; __syncthreads(); for (int j = 0; j < 16; ++j) s += x[ty][j] * y[j][tx]; __syncthreads(); } c[row * n + col] = s; }
KERNEL cleared(int* a) { int& e = a[blockIdx.x * blockDim.x + threadIdx.x]; if (e == -1) e = 0; }
KERNEL thirds(const float* a, float* b, int width, int first, int last) { int x = blockIdx.x * blockDim.x + threadIdx.x, y = first + blockIdx.y; if (x < width && y < last) b[y * width + x] = (a[(y - 1) * width + x] + a[y * width + x] + a[(y + 1) * width + x]) / 3; }
