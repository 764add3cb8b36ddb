// `race_kernels CUBIN FIRST SECOND`: two kernels on two streams get the same buffer. FIRST may be `graph`, with the two
// kernels on separate branches. In `graph_updatable`, kernels may change its nodes. With `mapped` or `mapped_only`,
// FIRST is `elsewhere`, and the private buffers are mapped; only with `mapped` may the GPU write to them. Further CUBINs
// are loaded first, one after the other. For `file:CUBIN`, the driver reads the file.
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "driver.h"

namespace {

struct Program : Driver {
  Program(const char* cubin, const std::string& first, char** loaded_before) {
    for (; *loaded_before != nullptr; ++loaded_before) {
      load(*loaded_before);
      std::size_t place = 0, bytes = 0;
      CHECK(cuFuncGetParamInfo(kernel("write__8"), 0, &place, &bytes));  // this query loads the kernel
      CHECK(cuModuleUnload(module));
    }
    load(cubin);
    for (CUdeviceptr& each : others)
      each = first.compare(0, 6, "mapped") == 0 ? map(first == "mapped") : allocate(4096);
    buffer = allocate(4096);
  }
  CUdeviceptr map(bool writable) {
    constexpr std::size_t kBytes = 2 << 20;
    CUdeviceptr address = 0;
    CUmemGenericAllocationHandle handle = 0;
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    const CUmemAccessDesc access = {properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CHECK(cuMemAddressReserve(&address, kBytes, 0, 0, 0));
    CHECK(cuMemCreate(&handle, kBytes, &properties, 0));
    CHECK(cuMemMap(address, kBytes, 0, handle, 0));
    if (writable) CHECK(cuMemSetAccess(address, kBytes, &access, 1));
    return address;
  }
  void load(const char* cubin) {
    if (std::strncmp(cubin, "file:", 5) == 0) {
      CHECK(cuModuleLoad(&module, cubin + 5));
      return;
    }
    std::ifstream file(cubin, std::ios::binary);
    code.assign(std::istreambuf_iterator<char>(file), {});
    CHECK(cuModuleLoadData(&module, code.data()));
  }
  // `copy_from` copies from the shared buffer to a private one, and `copy_to` in the opposite direction. `elsewhere`
  // writes a private buffer. `part__8_4:N` and `part__8_8:N` write from the Nth element on. `shift:N` moves 64 elements of
  // the shared buffer by N elements in place, with two warps.
  void launch(const std::string& what, CUstream stream) {
    const bool shifts = what.compare(0, 6, "shift:") == 0;
    const bool copies = what.compare(0, 5, "copy_") == 0;
    CUdeviceptr other = others[launches++];
    const std::size_t colon = what.find(':');
    long from = colon == std::string::npos ? 0 : std::stol(what.substr(colon + 1));
    const std::string named = copies || shifts ? "copy__8_8" : what == "elsewhere" ? "write__8" : what.substr(0, colon);
    const CUfunction function = kernel(named.c_str());
    CUdeviceptr used = what == "elsewhere" ? other : buffer;
    void* one[] = {&used, &from};
    CUdeviceptr behind = buffer + 4 * static_cast<CUdeviceptr>(from);
    void* two[] = {what == "copy_to" ? &behind : &other, what == "copy_to" ? &other : &behind};
    void* in_place[] = {&buffer, &behind};
    void** parameters = shifts ? in_place : copies ? two : one;
    CHECK(cuLaunchKernel(function, 1, 1, 1, shifts ? 64 : 32, 1, 1, 0, stream, parameters, nullptr));  // LAUNCH LINE
  }

  std::string code;
  CUdeviceptr buffer = 0, others[2] = {};
  int launches = 0;
};

}  // namespace

int main(int, char** arguments) {
  const bool mapped = std::strncmp(arguments[2], "mapped", 6) == 0;
  Program program(arguments[1], arguments[2], arguments + 4);
  CUstream a = program.stream(), b = program.stream();
  const bool updatable = std::strcmp(arguments[2], "graph_updatable") == 0;
  const bool graph = updatable || std::strcmp(arguments[2], "graph") == 0;
  CUevent fork = nullptr, join = nullptr;
  CUgraph captured = nullptr;
  CUgraphExec exec = nullptr;
  CHECK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
  CHECK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
  if (graph) {
    CHECK(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    CHECK(cuEventRecord(fork, a));
    CHECK(cuStreamWaitEvent(b, fork, 0));
  }
  program.launch(graph ? "write__8" : mapped ? "elsewhere" : arguments[2], a);  // FIRST LINE
  program.launch(arguments[3], b);                                              // THEN LINE
  if (graph) {
    CHECK(cuEventRecord(join, b));
    CHECK(cuStreamWaitEvent(a, join, 0));
    CHECK(cuStreamEndCapture(a, &captured));
    if (updatable) {
      std::size_t count = 2;
      CUgraphNode nodes[2] = {};
      CHECK(cuGraphGetNodes(captured, nodes, &count));
      CUkernelNodeAttrValue value = {};
      value.deviceUpdatableKernelNode.deviceUpdatable = 1;
      for (CUgraphNode node : nodes)
        CHECK(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &value));
    }
    CHECK(cuGraphInstantiate(&exec, captured, 0));
    CHECK(cuGraphLaunch(exec, a));
  }
  CHECK(cuCtxSynchronize());
  std::puts("done");
}
