// One bad kernel in a graph: ./graphs captured|added|thousand|updated|child|conditional|branches|changed
#include <cstdio>
#include <string>

__global__ void fill(int* p, int v) { p[threadIdx.x] = v; }
__global__ void stray_store(int* p, long far) { p[far + threadIdx.x] = 1; }

constexpr long kFar = 1L << 40;
int* memory;
cudaStream_t stream;

void launch_chain(int nodes, int bad) {
  for (int i = 0; i < nodes; i++) {
    if (i == bad)
      stray_store<<<1, 32, 0, stream>>>(memory, kFar);  // TRUE LINE captured, TRUE LINE thousand, TRUE LINE updated
    else
      fill<<<1, 32, 0, stream>>>(memory, i);
  }
}

cudaGraph_t captured(int nodes, int bad) {
  cudaGraph_t graph;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  launch_chain(nodes, bad);
  cudaStreamEndCapture(stream, &graph);
  return graph;
}

cudaKernelNodeParams fill_at(void** parameters) {
  cudaKernelNodeParams kernel = {};
  kernel.func = reinterpret_cast<void*>(fill);
  kernel.gridDim = dim3(1);
  kernel.blockDim = dim3(32);
  kernel.kernelParams = parameters;
  return kernel;
}

// A graph with one harmless kernel.
cudaGraph_t harmless(cudaGraphNode_t* node) {
  cudaGraph_t graph;
  int value = 3;
  void* parameters[] = {&memory, &value};
  const cudaKernelNodeParams kernel = fill_at(parameters);
  cudaGraphCreate(&graph, 0);
  cudaGraphAddKernelNode(node, graph, nullptr, 0, &kernel);  // CAPTURE changed
  return graph;
}

cudaKernelNodeParams stray() {
  static long far = kFar;
  static void* parameters[] = {&memory, &far};
  cudaKernelNodeParams kernel = fill_at(parameters);
  kernel.func = reinterpret_cast<void*>(stray_store);
  return kernel;
}

cudaGraph_t added() {
  cudaGraphNode_t first, second;
  cudaGraph_t graph = harmless(&first);
  const cudaKernelNodeParams bad = stray();
  cudaGraphAddKernelNode(&second, graph, &first, 1, &bad);  // TRUE LINE added, TRUE LINE child
  return graph;
}

cudaGraph_t with_child() {
  cudaGraph_t graph;
  cudaGraphNode_t clear, child;
  cudaMemsetParams zero = {};
  zero.dst = memory, zero.elementSize = 4, zero.width = 32, zero.height = 1;
  cudaGraphCreate(&graph, 0);
  cudaGraphAddMemsetNode(&clear, graph, nullptr, 0, &zero);
  cudaGraphAddChildGraphNode(&child, graph, &clear, 1, added());
  return graph;
}

// The body always runs.
cudaGraph_t conditional() {
  cudaGraphNode_t first, branch, body;
  cudaGraph_t graph = harmless(&first);
  const cudaKernelNodeParams bad = stray();
  cudaGraphNodeParams params = {};
  params.type = cudaGraphNodeTypeConditional;
  params.conditional.type = cudaGraphCondTypeIf;
  params.conditional.size = 1;
  cudaGraphConditionalHandleCreate(&params.conditional.handle, graph, 1, cudaGraphCondAssignDefault);
  cudaGraphAddNode(&branch, graph, &first, nullptr, 1, &params);
  cudaGraphAddKernelNode(&body, params.conditional.phGraph_out[0], nullptr, 0, &bad);  // TRUE LINE conditional
  return graph;
}

cudaGraph_t branches() {
  cudaGraph_t graph;
  cudaStream_t side;
  cudaEvent_t fork, join;
  cudaStreamCreate(&side), cudaEventCreate(&fork), cudaEventCreate(&join);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  fill<<<1, 32, 0, stream>>>(memory, 1);
  cudaEventRecord(fork, stream), cudaStreamWaitEvent(side, fork);
  fill<<<1, 32, 0, side>>>(memory + 64, 2);
  stray_store<<<1, 32, 0, stream>>>(memory, kFar);  // TRUE LINE branches
  cudaEventRecord(join, side), cudaStreamWaitEvent(stream, join);
  fill<<<1, 32, 0, stream>>>(memory, 3);
  cudaStreamEndCapture(stream, &graph);
  return graph;
}

cudaGraphNode_t changed_node;  // harmless until it gets a different pointer

void change(cudaGraphExec_t exec) {
  int value = 3;
  int* far = memory + kFar;
  void* parameters[] = {&far, &value};
  const cudaKernelNodeParams kernel = fill_at(parameters);
  cudaGraphExecKernelNodeSetParams(exec, changed_node, &kernel);  // TRUE LINE changed
}

cudaGraph_t graph_of(const std::string& what) {
  if (what == "added") return added();
  if (what == "child") return with_child();
  if (what == "conditional") return conditional();
  if (what == "branches") return branches();
  if (what == "updated") return captured(20, -1);
  if (what == "changed") return harmless(&changed_node);
  return what == "thousand" ? captured(1000, 411) : captured(5, 2);
}

int main(int, char** argv) {
  const std::string what = argv[1];
  cudaGraphExec_t replayable;
  cudaGraphExecUpdateResultInfo update;
  cudaMalloc(&memory, 1 << 20);
  cudaStreamCreate(&stream);
  cudaGraphInstantiate(&replayable, graph_of(what), 0);
  if (what == "updated") {
    cudaGraphLaunch(replayable, stream);
    cudaGraphExecUpdate(replayable, captured(20, 7), &update);
  }
  if (what == "changed") {
    cudaGraphLaunch(replayable, stream);
    change(replayable);
  }
  cudaError_t e = cudaGraphLaunch(replayable, stream);  // TRUE LINE
  e = cudaStreamSynchronize(stream);                    // BLAMED
  printf("%s\n", cudaGetErrorName(e));
  return e != cudaSuccess;
}
