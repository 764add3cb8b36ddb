// A launch that fails because of a bad pointer in memory: in a table, in a variable of the module, or in a parameter.
// `good`: no pointer is bad. `large`: with a table of 4 MiB. `large_good`: the large table, without a bad pointer.
#include <cstdint>
#include <cstring>

#include "driver.h"

constexpr const char* kText =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".global .align 8 .b8 place[8];\n"
    ".visible .entry sim_store_through(.param .u64 table, .param .u32 value)\n{\n ret;\n}\n"
    ".visible .entry sim_store_variable(.param .u32 value)\n{\n ret;\n}\n";

int main(int count, char** words) {
  const char* mode = count > 1 ? words[1] : "through";
  Driver driver;
  CUmodule module = nullptr;
  CHECK(cuModuleLoadData(&module, kText));
  CUfunction through = nullptr, variable = nullptr;
  CHECK(cuModuleGetFunction(&through, module, "sim_store_through"));
  CHECK(cuModuleGetFunction(&variable, module, "sim_store_variable"));
  const bool is_good = std::strcmp(mode, "large_good") == 0, is_large = is_good || std::strcmp(mode, "large") == 0;
  const CUdeviceptr idle = driver.allocate(12288), data = driver.allocate(4096),
                    table = driver.allocate(is_large ? 4 << 20 : 8192);
  CUdeviceptr place = 0;
  std::size_t bytes = 0;
  CHECK(cuModuleGetGlobal(&place, &bytes, module, "place"));
  const std::uint64_t good = data + 128, bad = 0x10;
  CHECK(cuMemcpyHtoD(table, &good, sizeof good));
  CHECK(cuMemcpyHtoD(place, &good, sizeof good));
  CHECK(cuMemsetD8(data, 7, 4096));
  CHECK(cuMemsetD8(idle, 9, 12288));

  std::uint64_t given = table;
  std::uint32_t value = 5;
  void* of_through[] = {&given, &value};
  void* of_variable[] = {&value};
  const bool uses_variable = std::strcmp(mode, "variable") == 0;
  CUfunction kernel = uses_variable ? variable : through;
  void** parameters = uses_variable ? of_variable : of_through;
  for (int i = 0; i < 3; ++i) {
    if (i == 2 && uses_variable) CHECK(cuMemcpyHtoD(place, &bad, sizeof bad));
    if (i == 2 && (std::strcmp(mode, "through") == 0 || (is_large && !is_good)))
      CHECK(cuMemcpyHtoD(table, &bad, sizeof bad));
    if (i == 2 && std::strcmp(mode, "parameter") == 0) given = 0x20000;
    cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr);  // TRUE LINE
    CHECK(cuCtxSynchronize());
  }
}
