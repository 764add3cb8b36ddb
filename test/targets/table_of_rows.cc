// `table_of_rows CUBIN [cleared]`: the pointer to freed memory is not a parameter. The kernel reads it from a table in
// device memory, which was filled by a copy. `cleared`: a memset changes the table afterwards.
// Plan: fault kernel=table__8 nth=2
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "driver.h"

struct Row {
  CUdeviceptr cells;
  long count;
};

// The source from which the kernel was compiled.
[[maybe_unused]] const char* const kSource = R"(
struct Row {
  float* cells;
  int count;
};
extern "C" __global__ void table__8(const Row* rows) {}
)";

int main(int count, char** arguments) {
  Driver driver;
  std::ifstream file(arguments[1], std::ios::binary);
  const std::string code{std::istreambuf_iterator<char>(file), {}};
  CHECK(cuModuleLoadData(&driver.module, code.data()));
  CUfunction relax = driver.kernel("table__8");
  Row host[3];
  for (Row& row : host) {
    row.count = 1 << 20;
    CHECK(cuMemAlloc(&row.cells, 4 << 20));  // ALLOCATED LINE
  }
  CUdeviceptr rows = driver.allocate(sizeof host);
  CHECK(cuMemcpyHtoD(rows, host, sizeof host));
  if (count > 2 && std::strcmp(arguments[2], "cleared") == 0) CHECK(cuMemsetD8(rows, 0, 8));
  void* parameters[] = {&rows};
  CHECK(cuLaunchKernel(relax, 4096, 3, 1, 256, 1, 1, 0, nullptr, parameters, nullptr));
  CHECK(cuMemFree(host[1].cells));                                                       // FREED LINE
  CHECK(cuLaunchKernel(relax, 4096, 3, 1, 256, 1, 1, 0, nullptr, parameters, nullptr));  // TRUE LINE
  CHECK(cuCtxSynchronize());
}
