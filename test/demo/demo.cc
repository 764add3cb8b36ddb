// A CUDA program with a bug: ten rows are smoothed in turn, but the third one was never allocated. The launch that uses
// it succeeds, as launches do; the copy at the end returns the error. `./dev demo` runs it under cudadiag.
#include <cuda.h>
#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <cstdlib>

// smooth(float* row, int cells): row[i] = (row[i-1] + row[i] + row[i+1]) / 3
constexpr const char* kSmooth = R"(
.version 7.0
.target sm_60
.address_size 64
.visible .entry _Z6smoothPfi(.param .u64 row, .param .u32 cells) {
  .reg .pred %p<3>;
  .reg .b32 %r<6>;
  .reg .b64 %a<4>;
  .reg .f32 %f<6>;
  ld.param.u64 %a1, [row];
  ld.param.u32 %r1, [cells];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  sub.s32 %r1, %r1, 1;
  setp.lt.s32 %p1, %r5, 1;
  setp.ge.s32 %p2, %r5, %r1;
  or.pred %p1, %p1, %p2;
  @%p1 ret;
  mad.wide.s32 %a2, %r5, 4, %a1;
  ld.global.f32 %f1, [%a2+-4];
  ld.global.f32 %f2, [%a2];
  ld.global.f32 %f3, [%a2+4];
  add.f32 %f4, %f1, %f2;
  add.f32 %f4, %f4, %f3;
  div.approx.f32 %f5, %f4, 0f40400000;
  st.global.f32 [%a2], %f5;
  ret;
}
)";

// The driver is opened, not linked, so that the program can be built on a machine without a driver.
template <typename Function>
Function* driver(const char* name) {
  static void* library = dlopen("libcuda.so.1", RTLD_NOW);
  void* symbol = library != nullptr ? dlsym(library, name) : nullptr;
  if (symbol == nullptr) {
    std::fprintf(stderr, "demo: no CUDA driver: %s\n", dlerror());
    std::exit(3);
  }
  return reinterpret_cast<Function*>(symbol);
}
#define NAME_OF(function) #function
#define CUDA(function) driver<decltype(function)>(NAME_OF(function))

void check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "demo: %s failed: CUDA error %d (this error might be asynchronously reported)\n", call, result);
  std::exit(result == CUDA_ERROR_ILLEGAL_ADDRESS ? 1 : 3);
}

constexpr int kCells = 1 << 16;
constexpr std::size_t kBytes = kCells * sizeof(float);

int main() {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  check(CUDA(cuInit)(0), "cuInit");
  check(CUDA(cuDeviceGet)(&device, 0), "cuDeviceGet");
  check(CUDA(cuDevicePrimaryCtxRetain)(&context, device), "cuDevicePrimaryCtxRetain");
  check(CUDA(cuCtxSetCurrent)(context), "cuCtxSetCurrent");
  check(CUDA(cuModuleLoadData)(&module, kSmooth), "cuModuleLoadData");
  check(CUDA(cuModuleGetFunction)(&kernel, module, "_Z6smoothPfi"), "cuModuleGetFunction");

  std::array<CUdeviceptr, 10> rows{};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i != 2) check(CUDA(cuMemAlloc)(&rows[i], kBytes), "cuMemAlloc");  // the bug: row 2 stays null
  }

  int cells = kCells;
  for (CUdeviceptr row : rows) {
    void* arguments[] = {&row, &cells};
    CUresult launched = CUDA(cuLaunchKernel)(kernel, kCells / 256, 1, 1, 256, 1, 1, 0, nullptr, arguments, nullptr);
    check(launched, "cuLaunchKernel");
  }

  static std::array<float, kCells> first;
  check(CUDA(cuMemcpyDtoH)(first.data(), rows[0], kBytes), "cuMemcpyDtoH");  // gets the blame
  std::puts("demo: no error, which is not what it is for");
  return 2;
}
