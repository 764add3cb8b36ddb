// Copies and memsets that fail because of their arguments. Argument "freed": memory that was freed; "past": memory that
// is too small for the copy, which some drivers accept; "exchanged": source and destination swapped; "unmade": the null
// pointer of a failed allocation whose error was not checked.
// Plan: fail api=cuMemcpyDtoD_v2 code=1; memory=64
#include <cstring>

#include "driver.h"

int main(int, char** argv) {
  const auto is = [&](const char* how) { return std::strcmp(argv[1], how) == 0; };
  char values[200] = {};
  Driver driver;
  const CUdeviceptr table = driver.allocate(8192);
  CUdeviceptr rows = 0;
  if (!is("unmade")) CHECK(cuMemAlloc(&rows, 4096));  // ALLOCATED LINE
  if (is("unmade")) cuMemAlloc(&rows, 1ull << 40);    // FAILED LINE
  if (is("freed")) {
    CHECK(cuMemFree(rows));                         // FREED LINE
    CHECK(cuMemsetD8(rows + 8, 0, sizeof values));  // TRUE LINE freed
  }
  if (is("past")) {
    CHECK(cuMemcpyDtoD(rows, table, 8192));  // TRUE LINE past
  }
  if (is("exchanged")) {
    const auto source = reinterpret_cast<CUdeviceptr>(values);
    CHECK(cuMemcpyDtoH(reinterpret_cast<void*>(rows), source, sizeof values));  // TRUE LINE exchanged
  }
  if (is("unmade")) {
    CHECK(cuMemcpyHtoD(rows, values, sizeof values));  // TRUE LINE unmade
  }
  std::puts("done");
}
