// A graph whose fourth kernel fails in the third launch, because of what the first kernel has done. Argument:
//   captured   the graph is destroyed once it has been instantiated, as PyTorch does
//   good       nothing is wrong: the program checks that every kernel runs once
//   host       the graph has a host function
//   root       the failing kernel depends on nothing, and there is a host function
//   changed    the failing kernel gets a different table before the third launch
//   updated    the executable graph is updated from a new capture before the third launch
//   child      the graph is a child graph of another graph
//   off        like good, but the third kernel is disabled, and must stay so
#include <cstdint>
#include <cstring>

#include "driver.h"

constexpr const char* kText =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".global .align 8 .b8 place[8];\n"
    ".visible .entry sim_load_u32(.param .u64 from, .param .u64 to)\n{\n ret;\n}\n"
    ".visible .entry sim_store_u32(.param .u64 to, .param .u32 value)\n{\n ret;\n}\n"
    ".visible .entry sim_store_through(.param .u64 table, .param .u32 value)\n{\n ret;\n}\n";

struct Program {
  const char* mode = "captured";
  Driver driver;
  CUmodule module = nullptr;
  CUstream stream = nullptr;
  CUfunction load = nullptr, store = nullptr, through = nullptr;
  CUdeviceptr data = 0, table = 0, bad_table = 0;

  bool is(const char* name) const { return std::strcmp(mode, name) == 0; }

  void copy_word(CUdeviceptr from, CUdeviceptr to) {
    void* parameters[] = {&from, &to};
    CHECK(cuLaunchKernel(load, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr));
  }

  CUgraph captured(CUdeviceptr used_table) {
    CUgraph graph = nullptr;
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    unsigned value = 5, last = 9;
    CUdeviceptr to = data + 12;
    void* of_through[] = {&used_table, &value};
    void* of_store[] = {&to, &last};
    if (is("host"))
      CHECK(cuLaunchHostFunc(
          stream, [](void*) {}, nullptr));
    if (!is("root")) {
      copy_word(data + 32, used_table);
      copy_word(data + 4, data + 8);
      copy_word(data, data + 4);
    }
    CHECK(cuLaunchKernel(through, 1, 1, 1, 32, 1, 1, 0, stream, of_through, nullptr));  // TRUE LINE
    if (is("root"))
      CHECK(cuLaunchHostFunc(
          stream, [](void*) {}, nullptr));
    CHECK(cuLaunchKernel(store, 1, 1, 1, 32, 1, 1, 0, stream, of_store, nullptr));
    CHECK(cuStreamEndCapture(stream, &graph));
    return graph;
  }

  CUgraph in_another(CUgraph child) const {
    CUgraph graph = nullptr;
    CUgraphNode first = nullptr, second = nullptr;
    CUDA_MEMSET_NODE_PARAMS clear = {data + 64, 0, 1, 1, 8, 1};
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddMemsetNode(&first, graph, nullptr, 0, &clear, driver.context));
    CHECK(cuGraphAddChildGraphNode(&second, graph, &first, 1, child));
    return graph;
  }

  // Initialises the memory before each launch. `wrong`: the first kernel makes the pointer in the table invalid.
  void prepare(int launch, bool wrong) {
    const std::uint64_t good = data + 128;
    const unsigned words[] = {11u + static_cast<unsigned>(launch), 22, 33, 44};
    const unsigned low = wrong ? 0x10 : static_cast<unsigned>(good);
    const std::uint64_t in_table = wrong && is("root") ? 0x10 : good;
    CHECK(cuMemcpyHtoD(data, words, sizeof words));
    CHECK(cuMemcpyHtoD(data + 32, &low, sizeof low));
    CHECK(cuMemcpyHtoD(table, &in_table, sizeof in_table));
  }

  // Returns whether each kernel has run exactly once.
  bool is_right(int launch) const {
    unsigned words[4] = {};
    CHECK(cuMemcpyDtoH(words, data, sizeof words));
    const unsigned before = 11u + static_cast<unsigned>(launch);
    const unsigned second = is("off") ? 22 : before;
    return is("root") || (words[0] == before && words[1] == second && words[2] == 22 && words[3] == 9);
  }
};

int main(int count, char** words) {
  Program program;
  if (count > 1) program.mode = words[1];
  CHECK(cuModuleLoadData(&program.module, kText));
  CHECK(cuModuleGetFunction(&program.load, program.module, "sim_load_u32"));
  CHECK(cuModuleGetFunction(&program.store, program.module, "sim_store_u32"));
  CHECK(cuModuleGetFunction(&program.through, program.module, "sim_store_through"));
  program.stream = program.driver.stream();
  program.data = program.driver.allocate(4096);
  program.table = program.driver.allocate(8192);
  program.bad_table = program.driver.allocate(16384);
  CUdeviceptr place = 0;
  std::size_t bytes = 0;
  CHECK(cuModuleGetGlobal(&place, &bytes, program.module, "place"));
  CHECK(cuMemcpyHtoD(place, &program.data, sizeof program.data));
  CHECK(cuMemsetD8(program.bad_table, 0, 16384));

  CUgraph graph = program.captured(program.table);
  CUgraphNode nodes[8] = {};
  std::size_t node_count = 8;
  CHECK(cuGraphGetNodes(graph, nodes, &node_count));
  if (program.is("child")) graph = program.in_another(graph);
  CUgraphExec exec = nullptr;
  CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  if (program.is("off")) CHECK(cuGraphNodeSetEnabled(exec, nodes[2], 0));
  const bool keeps = program.is("changed");
  if (!keeps) CHECK(cuGraphDestroy(graph));
  const bool goes_wrong = program.is("captured") || program.is("host") || program.is("root") || program.is("child");
  for (int launch = 0; launch < 3; ++launch) {
    program.prepare(launch, goes_wrong && launch == 2);
    if (launch == 2 && program.is("changed")) {
      CUDA_KERNEL_NODE_PARAMS kernel = {};
      CHECK(cuGraphKernelNodeGetParams(nodes[3], &kernel));
      unsigned value = 5;
      void* parameters[] = {&program.bad_table, &value};
      kernel.kernelParams = parameters;
      CHECK(cuGraphExecKernelNodeSetParams(exec, nodes[3], &kernel));  // TRUE LINE changed
    }
    if (launch == 2 && program.is("updated")) {
      CUgraphExecUpdateResultInfo info;
      graph = program.captured(program.bad_table);
      CHECK(cuGraphExecUpdate(exec, graph, &info));
      CHECK(cuGraphDestroy(graph));
    }
    CHECK(cuGraphLaunch(exec, program.stream));
    CHECK(cuStreamSynchronize(program.stream));
    if (!program.is_right(launch)) {
      std::puts("a kernel did not run once");
      return 3;
    }
  }
  CHECK(cuGraphExecDestroy(exec));
  std::puts("each kernel ran once");
}
