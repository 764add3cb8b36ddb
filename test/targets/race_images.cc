// A texture or surface, and its array or memory, used on two streams: `race_images CUBIN WHICH`.
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "driver.h"

namespace {

constexpr unsigned kWidth = 256, kHeight = 64;
constexpr std::size_t kRow = kWidth * sizeof(float), kBytes = kRow * kHeight;

struct Program : Driver {
  Program(const char* cubin, const char* which) : which_(which) {
    std::ifstream file(cubin, std::ios::binary);
    code_.assign(std::istreambuf_iterator<char>(file), {});
    CHECK(cuModuleLoadData(&module, code_.data()));
    const CUDA_ARRAY3D_DESCRIPTOR shape = {kWidth, kHeight, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST};
    CHECK(cuArray3DCreate(&array, &shape));
    CUDA_RESOURCE_DESC resource = {};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
    CHECK(cuTexObjectCreate(&texture, &resource, &description, nullptr));
    CHECK(cuSurfObjectCreate(&surface, &resource));
    resource.resType = CU_RESOURCE_TYPE_LINEAR;
    resource.res.linear = {table, CU_AD_FORMAT_FLOAT, 1, kBytes};
    CHECK(cuTexObjectCreate(&line, &resource, &description, nullptr));
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  }
  bool is(const char* name) const { return std::strcmp(which_, name) == 0; }

  void copy_rows(unsigned rows, CUstream stream) const {
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE, copy.srcDevice = next, copy.srcPitch = kRow;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY, copy.dstArray = array;
    copy.WidthInBytes = kRow, copy.Height = rows;
    CHECK(cuMemcpy2DAsync(&copy, stream));  // COPY LINE
  }
  void draw(int first, int rows, CUstream stream) {
    int width = kWidth;
    void* parameters[] = {&surface, &width, &rows, &first};
    const CUfunction function = kernel("draw__8_4_4_4");
    CHECK(cuLaunchKernel(function, 2, kHeight, 1, 128, 1, 1, 0, stream, parameters, nullptr));  // DRAW LINE
  }
  void sample(CUstream stream) {
    int width = kWidth, height = kHeight;
    void* parameters[] = {&texture, &out, &width, &height};
    const CUfunction function = kernel("sample__8_8_4_4");
    CHECK(cuLaunchKernel(function, 2, kHeight, 1, 128, 1, 1, 0, stream, parameters, nullptr));  // SAMPLE LINE
  }
  void fetch(int first, int count, CUstream stream) {
    void* parameters[] = {&line, &out, &first, &count};
    const CUfunction function = kernel("fetch__8_8_4_4");
    CHECK(cuLaunchKernel(function, 2, 1, 1, 128, 1, 1, 0, stream, parameters, nullptr));  // FETCH LINE
  }
  // Reads 32 by 32 elements with each block: rows 0 to 63 of the table.
  void load_tiles(CUstream stream) {
    const cuuint64_t sizes[2] = {128, 96}, pitch[1] = {512};
    const cuuint32_t box[2] = {32, 32}, steps[2] = {1, 1};
    CUtensorMap map;
    CHECK(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, reinterpret_cast<void*>(table), sizes, pitch,
                                 box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                                 CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    CUdeviceptr none = 0;
    void* parameters[] = {&map, &none};
    const CUfunction function = kernel("load_tiles__128_8");
    CHECK(cuLaunchKernel(function, 4, 2, 1, 32, 1, 1, 0, stream, parameters, nullptr));  // TILES LINE
  }
  void wait() const {
    CHECK(cuEventRecord(event, a));
    CHECK(cuStreamWaitEvent(b, event, 0));
  }

  const char* which_;
  std::string code_;
  CUstream a = stream(), b = stream();
  CUdeviceptr table = allocate(kBytes), next = allocate(kBytes), out = allocate(kBytes);
  CUarray array = nullptr;
  CUDA_TEXTURE_DESC description = {};
  CUtexObject texture = 0, line = 0;
  CUsurfObject surface = 0;
  CUevent event = nullptr;
};

}  // namespace

int main(int, char** arguments) {
  Program program(arguments[1], arguments[2]);
  const auto is = [&](const char* name) { return program.is(name); };
  const CUstream a = program.a, b = program.b;
  if (is("copied_then_sampled") || is("copied_and_waited") || is("copied_in_part")) {
    program.copy_rows(is("copied_in_part") ? kHeight / 2 : kHeight, a);
    if (is("copied_and_waited")) program.wait();
    program.sample(b);
  } else if (is("drawn_then_sampled") || is("drawn_and_waited") || is("drawn_in_part")) {
    program.draw(0, is("drawn_in_part") ? kHeight - 1 : kHeight, a);
    if (is("drawn_and_waited")) program.wait();
    program.sample(b);
  } else if (is("drawn_in_halves") || is("drawn_over_halves")) {
    program.draw(0, kHeight / 2, a);
    program.draw(is("drawn_in_halves") ? kHeight / 2 : kHeight / 2 - 1, kHeight / 2, b);
  } else if (is("loaded_then_set") || is("loaded_beside")) {
    program.load_tiles(a);
    CHECK(cuMemsetD8Async(program.table + (is("loaded_beside") ? 64 : 63) * 512, 0, 512, b));  // SET ROW LINE
  } else {  // fetched_then_set, set_elsewhere
    program.fetch(0, 100, a);
    CHECK(cuMemsetD8Async(program.table + (is("set_elsewhere") ? 400 : 399), 0, 64, b));  // SET LINE
  }
  CHECK(cuCtxSynchronize());
  std::puts("done");
}
