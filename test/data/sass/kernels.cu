extern "C" __global__ void taken(float* pool, int* cursor, int n) { __shared__ int start; if (threadIdx.x == 0) start = atomicAdd(cursor, n); __syncthreads(); pool[start + threadIdx.x] = 1; }
extern "C" __global__ void folded(const float* in, float* out) { __shared__ float part[256]; part[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x]; __syncthreads();
#pragma unroll 1
  for (int half = blockDim.x / 2; half > 0; half /= 2) { if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half]; __syncthreads(); } if (threadIdx.x == 0) out[blockIdx.x] = part[0]; }
extern "C" __global__ void diagonal(const float* radius, int n, int4* list, int* count) { int a = blockIdx.x, b = blockIdx.y * blockDim.x + threadIdx.x; if (a >= b || b >= n || radius[a] + radius[b] < 1) return; list[atomicAdd(count, 1)] = make_int4(a, b, 0, 0); }
extern "C" __global__ void handled(const float* const* rows, float* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = rows[blockIdx.x][threadIdx.x]; }
extern "C" __global__ void joined(const unsigned* halves, float* out) { unsigned long long address = (unsigned long long)halves[2 * blockIdx.x] << 32 | halves[2 * blockIdx.x + 1]; out[blockIdx.x * blockDim.x + threadIdx.x] = ((const float*)address)[threadIdx.x]; }
extern "C" __global__ void fetched(const float* in, float* out, int at) { __shared__ float part[256]; asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"((unsigned)__cvta_generic_to_shared(&part[at])), "l"(in + threadIdx.x)); asm volatile("cp.async.wait_all;"); __syncthreads(); out[threadIdx.x] = part[threadIdx.x]; }
#include <cstdint>
struct Pack { int n; float* data[3]; float scale; };
extern "C" __global__ void add(const float* a, const float* b, float* c, int n) { int i = blockIdx.x*blockDim.x+threadIdx.x; if (i<n) c[i]=a[i]+b[i]; }
extern "C" __global__ void packed(Pack p) { int i = blockIdx.x*blockDim.x+threadIdx.x; if (i<p.n) p.data[0][i]=p.data[1][i]*p.scale+p.data[2][i]; }
extern "C" __global__ void inplace(float* x, int n) { int i = blockIdx.x*blockDim.x+threadIdx.x; if (i<n) x[i]*=2; }
extern "C" __global__ void hist(const int* x, int* bins, int n) { for (int i = blockIdx.x*blockDim.x+threadIdx.x; i<n; i+=gridDim.x*blockDim.x) atomicAdd(&bins[x[i]],1); }
extern "C" __global__ void gather(const float** table, float* out, int n) { int i=threadIdx.x; if (i<n) out[i]=table[i][0]; }
extern "C" __global__ void unused(const float* a, float* out) { out[threadIdx.x]=1; }
extern "C" __global__ void select2(float* a, float* b, const float* c, int w) { float* p = w? a : b; p[threadIdx.x]=c[threadIdx.x]; }
struct Multi { void* addr[4][36]; int n[36]; uint8_t block_to[320]; };
extern "C" __global__ void multi(Multi m) { int t=m.block_to[blockIdx.x]; float* p=(float*)m.addr[1][t]; const float* q=(const float*)m.addr[0][t]; if (threadIdx.x<m.n[t]) p[threadIdx.x]=q[threadIdx.x]; }
extern "C" __global__ void vec(float4* __restrict__ a, const float4* __restrict__ b, int64_t n) { int64_t i=blockIdx.x*(int64_t)blockDim.x+threadIdx.x; if(i<n){ float4 v=b[i]; v.x+=1; a[i]=v;} }
extern "C" __global__ void acopy(const float* g, float* o) { __shared__ float s[128]; uint32_t d=__cvta_generic_to_shared(&s[threadIdx.x]); asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"::"r"(d),"l"(g+threadIdx.x)); asm volatile("cp.async.wait_all;"); __syncthreads(); o[threadIdx.x]=s[127-threadIdx.x]; }
__device__ __noinline__ void callee(float* p, float v) { p[threadIdx.x] = v; }
extern "C" __global__ void calls(float* a, float* b) { callee(a, b[threadIdx.x]); }
#include <cstdint>
#include <cassert>
extern "C" __global__ void loop(const float* a, float* b, int n, int64_t stride) { float s=0; for (int i=threadIdx.x;i<n;i+=blockDim.x) { s+=a[i*stride]; if (s>100) b[i]=s; else b[i+1]=a[i]; } assert(n<100); b[threadIdx.x]=s; }
extern "C" __global__ void spill(float** o, const float* a, int k) { float v[40]; for(int i=0;i<40;i++) v[i]=a[i*k]; for(int i=0;i<40;i++) o[0][i]=v[(i*k)%40]; }
extern "C" __global__ void sw(float*a,float*b,float*c,int k){ switch(k){case 0:a[0]=1;break;case 1:b[0]=2;break;case 2:c[0]=3;break;case 3:a[1]=c[4];break;case 4:b[3]=a[2];break;case 5: c[2]=b[2];break; case 6: a[7]=b[7];break; default: return;} }
extern "C" __global__ void aligned(float* a) { float4* p = (float4*)(((uint64_t)a + 15) & ~15ull); p[threadIdx.x] = make_float4(1, 2, 3, 4); }
extern "C" __global__ void exchange(unsigned* a, double* b) { atomicCAS(a, 1u, 2u); atomicAdd(b, 1.0); }
extern "C" __global__ void lesser(float* a, float* b) { float* p = a < b ? a : b; *p = 1; }
extern "C" __global__ void next(float* a, float* b, int n) { float* p = b;
#pragma unroll 1
  for (int i = 0; i < n; ++i) { *p = 1; p = a; __syncthreads(); } }
extern "C" __global__ void walk(const float* a, float* b, long n) { const float* p = a + blockIdx.x * n; const float* e = p + n; float* o = b;
#pragma unroll 1
  while (p < e) { *o = *p * 2; p += 3; o += n; __syncthreads(); } }
extern "C" __global__ void swapped(float* a, float* b, float* c, float* d, int n) { float *x = a, *y = b;
#pragma unroll 1
  for (int i = 0; i < n; ++i) { *x = *y; if (i & 1) { float* t = x; x = y; y = t; } else { x = c; y = d; } __syncthreads(); } }
struct Two { float *a, *b; };
typedef void (*Fill)(Two*, int, int, int, int, int, int, int, int, int, int);
__device__ __noinline__ void fill_a(Two* t, int, int, int, int, int, int, int, int, int, int) { t->a[0] = 1; }
__device__ __noinline__ void fill_b(Two* t, int, int, int, int, int, int, int, int, int, int) { t->b[0] = 1; }
__device__ Fill fills[2] = {fill_a, fill_b};
extern "C" __global__ void on_stack(float* a, float* b, int c) { Two t{a, b}; fills[c](&t, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10); }
typedef float* (*Find)(float*, int, int, int, int, int, int, int, int, int, int);
__device__ float* other;
__device__ __noinline__ float* find_it(float* p, int x, int, int, int, int, int, int, int, int, int) { return x > 3 ? other : p + 1; }
__device__ __noinline__ float* find_other(float*, int, int, int, int, int, int, int, int, int, int) { return other; }
__device__ Find finds[2] = {find_it, find_other};
extern "C" __global__ void returned(float* a, int c) { *finds[c](a, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10) = 1; }
struct Eight { float* p[8]; };
extern "C" __global__ void picked(const __grid_constant__ Eight x, int k) { x.p[k][threadIdx.x] = x.p[0][1] + x.p[3][0]; }
extern "C" __global__ void listed(const __grid_constant__ Eight x, const int* k) { x.p[k[0]][threadIdx.x] = 1; }
extern "C" __global__ void each(const __grid_constant__ Eight x, float* y) { x.p[blockIdx.x][threadIdx.x] = y[threadIdx.x]; }
extern "C" __global__ void part(float* a, int begin) { int i = begin + blockIdx.x * blockDim.x + threadIdx.x; a[i] = a[i] + 1; }
extern "C" __global__ void reversed(float* end) { end[-1 - (int)threadIdx.x] = 1; }
extern "C" __global__ void backwards(float* end, float* begin) { float* p = end;
#pragma unroll 1
  while (p != begin) *--p = 1; }
extern "C" __global__ void stride(float* a, const float* b, int n, int rows) { float* p = a;
#pragma unroll 1
  for (int i = blockIdx.x; i < rows; i += gridDim.x) { p[i * n + threadIdx.x] = b[n * threadIdx.x]; p += n; } }
extern "C" __global__ void bytes_on(char* a, long begin, const char* b) { a[begin + threadIdx.x] = b[threadIdx.x]; }
extern "C" __global__ void strided_loop(float* a, int n, int step) {
#pragma unroll 1
  for (int i = threadIdx.x; i < n; i += step) a[i] = 1; }
extern "C" __global__ void stencil(const float* a, float* b, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x + 1; if (i < n) b[i - 1] = a[i - 1] + a[i + 1]; }
extern "C" __global__ void product(float* a, int row, int width) { a[row * width + threadIdx.x] = 1; }
extern "C" __global__ void clamped(float* a, int last) { int i = min((int)(threadIdx.x + blockIdx.x * 256), last); a[i] = 1; }
extern "C" __global__ void two_conditions(int* out, int** table, int n, int k) { out[1000 + threadIdx.x] = 1; if (n > (int)threadIdx.x && k > 2) return; table[threadIdx.x][0] = 1; }
extern "C" __global__ void upper_half(char* to, int u, int k, int w) { to[(w == (int)threadIdx.x) ? (long long)((int)threadIdx.x - u) : (long long)(k + (u >> 2))] = 1; }
extern "C" __global__ void flagged(const int* flags, const float* from, float* to, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; if (flags[i] == 0) return; to[i] = from[i] + 1; }
extern "C" __global__ void appended(const float* radius, int4* list, int* count) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (radius[i] > 0.5f) list[atomicAdd(count, 1)] = make_int4(i, 0, 0, 0); }
extern "C" __global__ void counted(const int* counts, float* sums) { int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
  for (int k = 0; k < counts[i]; ++k) { sums[i] += k; if (sums[i] > 9) sums[i + 1] = 0; } }
extern "C" __global__ void nested(const int* m, float* out, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x, a = m[i]; if (a > 0) { if (m[i + 1] > a) out[i] = 1; else { out[i + n] = 2; if (m[i + 2] < 0) return; } out[i + 2 * n] = 3; } else if (a < -5) return; out[i + 3 * n] = 4; }
extern "C" __global__ void walked(const int* m, float* out, float* end) { int i = threadIdx.x, j = i;
#pragma unroll 1
  while (j < i + 8 && m[j] > 0) { out[j] = m[j]; ++j; } end[j] = 0; out[i + 64] = 1; }
extern "C" __global__ void skipped(const int* m, float* out, int n) { int i = threadIdx.x;
#pragma unroll 1
  for (int k = 0; k < 4; ++k) { int v = m[i + k]; if (v == 0) continue; if (v < -4) break; out[k * n + i] = v; if (v > 4) out[k * n + i + 1] = 0; } out[i + 8 * n] = 1; }
extern "C" __global__ void switched(const int* m, float* out, float* other, int n) { int i = threadIdx.x; switch (m[i] & 3) { case 0: out[i] = 1; break; case 1: other[i + n] = 2; case 2: out[i + 2 * n] = 3; return; default: other[i] = 4; } out[i + 3 * n] = 5; }
extern "C" __global__ void chosen_by(const int* m, float* a, float* b, int n) { int i = threadIdx.x; float* p = m[i] > 0 ? a : b; p[i] = 1; if (m[i + 1] > 2) p += n; p[i + 1] = 2; }
extern "C" __global__ void summed(const int* m, float* out, float* other, int n) { int i = threadIdx.x, s = 0;
#pragma unroll 1
  for (int k = 0; k < n; ++k) { s += m[k]; if (s > 10) out[i] = s; other[i + k] = 1; if (s < -10) { other[i + 64] = 2; s = m[k + 1]; } } out[s & 7] = 3; }
extern "C" __global__ void left_early(const int* m, float* out, float* other, int n) { int i = threadIdx.x;
#pragma unroll 1
  for (int k = 0; k < 8; ++k) { if (m[k] == 7) return; out[i + k * n] = k;
#pragma unroll 1
    for (int j = 0; j < m[k]; ++j) { if (m[j] == 5) break; other[i + j] = j; other[i + k] = 1; } } other[i + n] = 2; }
extern "C" __global__ void tabled(int** table, int* spare) { int* q = table[threadIdx.x]; if (!q) q = spare; *q = 1; }
struct Linked { Linked* next; int value; };
extern "C" __global__ void linked(Linked* head) { for (Linked* n = head; n; n = n->next) n->value = threadIdx.x; }
extern "C" __global__ void local_index(int* p, int n, int m) { int a[8];
#pragma unroll 1
  for (int i = 0; i < 8; i++) a[(i + m) & 7] = i; a[n] = 3; p[0] = a[m]; }
__device__ __noinline__ float walk(const float* p, int d) { if (d == 0) return p[0]; float r = walk(p, d - 1); return r + p[d] * r; }
extern "C" __global__ void recursive(const float* p, float* out, int d) { out[threadIdx.x] = walk(p, d); }
