// Stands in for PyTorch's libtorch_cpu.so: exported names, the layout of a node that the recorder reads, an operator
// that launches, and an engine whose thread has no Python frames.
#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#define EXPORTED __attribute__((visibility("default")))

namespace at {
namespace sequence_number {
thread_local std::uint64_t count;
EXPORTED std::uint64_t peek() { return count; }
}  // namespace sequence_number

struct EXPORTED RecordFunction {
  static std::uint64_t currentThreadId();
};
std::uint64_t RecordFunction::currentThreadId() {
  static std::atomic<std::uint64_t> last;
  thread_local std::uint64_t own = 0;
  if (own == 0) own = ++last;
  return own;
}
}  // namespace at

namespace torch::autograd {

bool other_layout() { return std::getenv("OTHER_TORCH") != nullptr; }

struct Node : std::enable_shared_from_this<Node> {
  virtual ~Node() = default;
  std::uint64_t sequence_nr_ = other_layout() ? at::sequence_number::count : at::sequence_number::count++;
  std::uint64_t topological_nr_ = 0;
  mutable bool has_parent_ = false;
  std::uint64_t thread_id_ = other_layout() ? ~std::uint64_t{0} : at::RecordFunction::currentThreadId();
};
struct PyNode : Node {};
namespace generated {
struct GatherBackward0 : Node {};
struct SliceBackward0 : Node {};
}  // namespace generated

thread_local std::shared_ptr<Node> current;
thread_local int task = -1;
EXPORTED std::shared_ptr<Node> get_current_node() { return current; }
EXPORTED int get_current_graph_task_id() { return task; }

std::vector<std::shared_ptr<Node>> nodes;
template <typename T>
int add() {
  nodes.push_back(std::make_shared<T>());
  return static_cast<int>(nodes.size());
}

__attribute__((noinline)) int launch(CUfunction kernel) {
  const CUresult result = cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr);
  asm volatile("");  // no tail call: the caller stays on the stack
  return result;
}

namespace VariableType {
namespace {
__attribute__((noinline)) int gather(CUfunction kernel, bool grad) {
  const int node = grad ? add<generated::GatherBackward0>() : 0;
  launch(kernel);
  asm volatile("");
  return node;
}
}  // namespace
}  // namespace VariableType

}  // namespace torch::autograd

// Called by the Python part of this imitation. Nodes are numbered from 1; 0 means that no node was created.
extern "C" {
EXPORTED int fake_gather(CUfunction kernel, bool grad) { return torch::autograd::VariableType::gather(kernel, grad); }
EXPORTED int fake_view() { return torch::autograd::add<torch::autograd::generated::SliceBackward0>(); }
EXPORTED int fake_function() { return torch::autograd::add<torch::autograd::PyNode>(); }
EXPORTED int fake_launch(CUfunction kernel) { return torch::autograd::launch(kernel); }

EXPORTED int fake_allocate(std::size_t bytes) {
  CUdeviceptr memory = 0;
  const CUresult result = cuMemAlloc(&memory, bytes);
  asm volatile("");
  return static_cast<int>(result);
}

EXPORTED std::uint64_t fake_number(int node) {
  return torch::autograd::nodes.at(static_cast<std::size_t>(node - 1))->sequence_nr_;
}

// Runs the backward pass of `count` nodes on a separate thread, each launching `kernel`. With `create_graph`, each node
// also creates a new node, and the last new node is returned. `hook`, if given, is called before and after each node.
EXPORTED int fake_run(const int* nodes, int count, CUfunction kernel, bool create_graph, void (*hook)(int node, bool)) {
  CUcontext context = nullptr;
  cuCtxGetCurrent(&context);
  static int runs;
  const int run = runs++;
  int made = 0;
  std::thread worker([&] {
    cuCtxSetCurrent(context);
    torch::autograd::task = run;
    for (int i = 0; i < count; ++i) {
      torch::autograd::current = torch::autograd::nodes.at(static_cast<std::size_t>(nodes[i] - 1));
      if (hook != nullptr) hook(nodes[i], true);
      made = torch::autograd::VariableType::gather(kernel, create_graph);
      if (hook != nullptr) hook(nodes[i], false);
    }
    torch::autograd::current = nullptr;
  });
  worker.join();
  return made;
}
}
