// Kernels that use textures and surfaces. A kernel's name gives the sizes of its parameters, for the simulated driver.
// Compiled with nvcc -arch=sm_90 -cubin for images.sm90.cubin, and for sm_80, sm_90, sm_100 and sm_120 for the texts.
#define KERNEL extern "C" __global__ void
using Texture = cudaTextureObject_t;
using Surface = cudaSurfaceObject_t;
#define X const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y
KERNEL sample__8_8_4_4(Texture image, float* out, int width, int height) { X; if (x < width && y < height) out[y * width + x] = tex2D<float>(image, x + 0.5F, y + 0.5F); }
KERNEL draw__8_4_4_4(Surface image, int width, int height, int first) { X; if (x < width && y < height) surf2Dwrite(1.0F * x, image, x * 4, first + y); }
KERNEL load__8_8_4_4(Surface image, float* out, int width, int height) { X; if (x < width && y < height) out[y * width + x] = surf2Dread<float>(image, x * 4, y); }
KERNEL fetch__8_8_4_4(Texture table, float* out, int first, int count) { X; if (x < count) out[y + x] = tex1Dfetch<float>(table, first + x); }
KERNEL fetch_four__8_8_4(Texture table, float4* out, int count) { X; if (x < count) out[y + x] = tex1Dfetch<float4>(table, x); }
KERNEL line__8_4(Surface image, int count) { X; if (x < count) surf1Dwrite(1.0F * y, image, x * 4); }
KERNEL layers__8_4(Surface image, int count) { X; if (x < count) surf2DLayeredwrite(make_float2(1, 2), image, x * 8, y, blockIdx.z); }
KERNEL lines__8_4(Surface image, int count) { X; if (x < count) surf1DLayeredwrite(1.0F, image, x * 4, y); }
KERNEL volume__8_4(Surface image, int count) { X; if (x < count) surf3Dwrite<short>(7, image, x * 2, y, blockIdx.z); }
KERNEL add__8_4(Surface image, int count) { X; if (x < count) asm volatile("sured.b.add.2d.u32.trap [%0,{%1,%2}],%3;" ::"l"(image), "r"(x * 4), "r"(y), "r"(1)); }
KERNEL typed__8_4(Surface image, int count) { X; if (x < count) asm volatile("sust.p.2d.b32.trap [%0,{%1,%2}],{%3};" ::"l"(image), "r"(x), "r"(y), "r"(1)); }
KERNEL either__8_8_4_8(Texture a, Texture b, int which, float* out) { out[threadIdx.x] = tex2D<float>(which ? a : b, threadIdx.x, 1); }
KERNEL listed__8_8(const Texture* all, float* out) { out[threadIdx.x] = tex2D<float>(all[0], threadIdx.x, 1); }
struct Four { Texture image[4]; };
KERNEL indexed__32_8(Four four, float* out) { out[threadIdx.x] = tex2D<float>(four.image[blockIdx.x], threadIdx.x, 1); }
struct Pair { int count; Texture from; Surface to; };
KERNEL inside__24(Pair pair) { X; if (x < pair.count) surf1Dwrite(tex1Dfetch<float>(pair.from, x + y), pair.to, x * 4); }
KERNEL size_only__8_8(Texture image, int* out) { int width; asm volatile("txq.width.b32 %0,[%1];" : "=r"(width) : "l"(image)); *out = width; }
