// Runs a script that scripts.py wrote, one step per line. A script is a file of numbers and words:
//
//    context DEVICE|own                     creates a context: the primary one of DEVICE, or a new one on device 0
//    stream CONTEXT default|thread|legacy|blocking|apart
//    event CONTEXT, graph, exec             creates an event, a graph or an executable graph
//    THREAD VERB ...                        adds a step to the thread; 0 is the main thread
//    end stop|exit|ignore|abort|unasked     how the program handles an error, and whether it waits for its work
//
// Every operation is issued at one of the lines of issue(), and has a unique size by which it can be recognised.
#include <array>
#include <atomic>
#include <barrier>
#include <deque>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "driver.h"

namespace {

constexpr std::size_t kBytes = 1 << 16, kWords = 4096;

struct Context {
  CUcontext handle = nullptr;
  CUmodule module = nullptr;
  CUdeviceptr to = 0, from = 0, words = 0;
  void* pinned = nullptr;
};

struct Stream {
  std::size_t context = 0;
  std::string kind;
  CUstream handle = nullptr;
};

struct Event {
  std::size_t context = 0;
  CUevent handle = nullptr;
};

struct Step {
  std::string verb, how;
  unsigned site = 0;
  std::vector<unsigned> numbers;
  // Used by issue().
  const Context* context = nullptr;
  CUstream stream = nullptr;
  CUfunction function = nullptr;
  unsigned size = 0;
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CUgraphNode* node = nullptr;
  std::vector<CUgraphNode> after;
  CUDA_KERNEL_NODE_PARAMS kernel = {};
  CUDA_MEMSET_NODE_PARAMS set = {};
  CUlaunchConfig launch = {};
};

// Never destroyed, because other threads continue while one of them exits.
auto& contexts = *new std::vector<Context>;
auto& streams = *new std::vector<Stream>;
auto& events = *new std::vector<Event>;
auto& graphs = *new std::vector<CUgraph>;
auto& execs = *new std::vector<CUgraphExec>;
auto& nodes = *new std::map<unsigned, CUgraphNode>;  // by size; all entries are created before any thread starts
auto& threads = *new std::map<unsigned, std::vector<Step>>;
auto& ending = *new std::string("stop");
thread_local std::array<char, kBytes> pageable;

// Macros, so that each call is on the line at which issue() uses the macro.
#define KERNEL                                                                                          \
  (s.how == "plain" ? cuLaunchKernel(s.function, s.size, 1, 1, 32, 1, 1, 0, s.stream, nullptr, nullptr) \
   : s.how == "ex"  ? cuLaunchKernelEx(&s.launch, s.function, nullptr, nullptr)                         \
                    : cuLaunchCooperativeKernel(s.function, s.size, 1, 1, 32, 1, 1, 0, s.stream, nullptr))

#define SET                                                                      \
  (s.how == "bytes"   ? cuMemsetD8Async(s.context->to, 1, s.size, s.stream)      \
   : s.how == "words" ? cuMemsetD32Async(s.context->to, 1, s.size / 4, s.stream) \
                      : cuMemsetD8(s.context->to, 1, s.size))

#define COPY                                                                                       \
  (s.how == "in"         ? cuMemcpyHtoDAsync(s.context->to, s.context->pinned, s.size, s.stream)   \
   : s.how == "in_page"  ? cuMemcpyHtoDAsync(s.context->to, pageable.data(), s.size, s.stream)     \
   : s.how == "out"      ? cuMemcpyDtoHAsync(s.context->pinned, s.context->from, s.size, s.stream) \
   : s.how == "out_page" ? cuMemcpyDtoHAsync(pageable.data(), s.context->from, s.size, s.stream)   \
   : s.how == "within"   ? cuMemcpyDtoDAsync(s.context->to, s.context->from, s.size, s.stream)     \
   : s.how == "any"      ? cuMemcpyAsync(s.context->to, s.context->from, s.size, s.stream)         \
   : s.how == "in_now"   ? cuMemcpyHtoD(s.context->to, pageable.data(), s.size)                    \
   : s.how == "out_now"  ? cuMemcpyDtoH(pageable.data(), s.context->from, s.size)                  \
                         : cuMemcpyDtoD(s.context->to, s.context->from, s.size))

#define GRAPH                                                                                                  \
  (s.verb == "replay"       ? cuGraphLaunch(s.exec, s.stream)                                                  \
   : s.verb == "add_kernel" ? cuGraphAddKernelNode(s.node, s.graph, s.after.data(), s.after.size(), &s.kernel) \
   : s.verb == "add_set"                                                                                       \
       ? cuGraphAddMemsetNode(s.node, s.graph, s.after.data(), s.after.size(), &s.set, s.context->handle)      \
   : s.verb == "change_kernel" ? cuGraphExecKernelNodeSetParams(s.exec, *s.node, &s.kernel)                    \
                               : cuGraphExecMemsetNodeSetParams(s.exec, *s.node, &s.set, s.context->handle))

#define ISSUE (s.verb == "kernel" ? KERNEL : s.verb == "set" ? SET : s.verb == "copy" ? COPY : GRAPH)

CUresult issue(Step& s) {
  switch (s.site) {
    // SITES
    // clang-format off
    case 0: return ISSUE;
    case 1: return ISSUE;
    case 2: return ISSUE;
    case 3: return ISSUE;
    case 4: return ISSUE;
    case 5: return ISSUE;
    case 6: return ISSUE;
    case 7: return ISSUE;
    case 8: return ISSUE;
    case 9: return ISSUE;
    case 10: return ISSUE;
    case 11: return ISSUE;
    case 12: return ISSUE;
    case 13: return ISSUE;
    case 14: return ISSUE;
    case 15: return ISSUE;
    case 16: return ISSUE;
    case 17: return ISSUE;
    case 18: return ISSUE;
    case 19: return ISSUE;
    case 20: return ISSUE;
    case 21: return ISSUE;
    case 22: return ISSUE;
    case 23: return ISSUE;
    case 24: return ISSUE;
    case 25: return ISSUE;
    case 26: return ISSUE;
    case 27: return ISSUE;
    case 28: return ISSUE;
    case 29: return ISSUE;
    case 30: return ISSUE;
    case 31: return ISSUE;
    default: return CUDA_ERROR_UNKNOWN;
      // clang-format on
  }
}

void CUDA_CB on_host(void*) {}

CUstream made(const Stream& of) {
  CUstream handle = of.kind == "thread" ? CU_STREAM_PER_THREAD : of.kind == "legacy" ? CU_STREAM_LEGACY : nullptr;
  if (of.kind == "blocking") CHECK(cuStreamCreate(&handle, CU_STREAM_DEFAULT));
  if (of.kind == "apart") CHECK(cuStreamCreate(&handle, CU_STREAM_NON_BLOCKING));
  return handle;
}

void use(Step& s, std::size_t context) {
  s.context = &contexts[context];
  CHECK(cuCtxSetCurrent(s.context->handle));
}

void use_stream(Step& s, std::size_t stream) {
  use(s, streams[stream].context);
  s.stream = streams[stream].handle;
}

CUresult with_graph(Step& s) {
  const auto& n = s.numbers;
  if (s.verb == "begin") return cuStreamBeginCapture(s.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  if (s.verb == "end") return cuStreamEndCapture(s.stream, &graphs[n[1]]);
  if (s.verb == "new_graph") return cuGraphCreate(&graphs[n[0]], 0);
  CUgraph graph = s.verb == "replay" || s.verb.starts_with("change") ? nullptr : graphs[n[0]];
  if (s.verb == "instantiate") return cuGraphInstantiateWithFlags(&execs[n[1]], graph, 0);
  if (s.verb == "add_child") {
    CUgraphNode node = nullptr;
    return cuGraphAddChildGraphNode(&node, graph, nullptr, 0, graphs[n[1]]);
  }
  if (s.verb == "update") {
    CUgraphExecUpdateResultInfo info = {};
    return execs[n[1]] == nullptr ? CUDA_ERROR_INVALID_VALUE : cuGraphExecUpdate(execs[n[1]], graph, &info);
  }
  // The steps are: replay EXEC STREAM; add_* GRAPH CONTEXT SIZE AFTER; change_* EXEC CONTEXT SIZE NODE.
  if (s.verb == "replay") use_stream(s, n[1]);
  s.graph = graph;
  s.exec = graph == nullptr ? execs[n[0]] : nullptr;
  if (s.verb == "replay") return s.exec == nullptr ? CUDA_ERROR_INVALID_VALUE : issue(s);
  use(s, n[1]);
  s.after.clear();
  if (graph != nullptr && n[3] != 0) s.after.push_back(nodes.at(n[3]));
  s.node = &nodes.at(graph == nullptr ? n[3] : n[2]);
  s.kernel = {};
  s.kernel.func = s.function;
  s.kernel.gridDimX = n[2], s.kernel.gridDimY = s.kernel.gridDimZ = 1;
  s.kernel.blockDimX = 32, s.kernel.blockDimY = s.kernel.blockDimZ = 1;
  s.set = {s.context->to, 0, 1, 1, n[2], 1};
  if (graph == nullptr && (s.exec == nullptr || *s.node == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  return issue(s);
}

// Stores the nodes that a capture created, in order, under the given sizes. The step is "named GRAPH SIZE…". Size 0
// stands for a node that is not changed later.
CUresult name_nodes(const Step& s) {
  std::vector<CUgraphNode> found(s.numbers.size() - 1);
  std::size_t count = found.size();
  if (graphs[s.numbers[0]] == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = cuGraphGetNodes(graphs[s.numbers[0]], found.data(), &count);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (s.numbers[i + 1] != 0) nodes.at(s.numbers[i + 1]) = found[i];
  }
  return result;
}

CUresult with_events(Step& s, CUevent& event) {
  if (s.verb == "record") return cuEventRecord(event, s.stream);
  if (s.verb == "wait") return cuStreamWaitEvent(s.stream, event, 0);
  if (s.verb == "sync_event") return cuEventSynchronize(event);
  if (s.verb == "ask_event") return cuEventQuery(event);
  CHECK(cuEventDestroy(event));  // the program creates it again
  return cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
}

CUresult with_stream(Step& s) {
  Stream& stream = streams[s.numbers[0]];
  const CUdeviceptr word = s.numbers.size() > 1 ? s.context->words + 4 * s.numbers[1] : 0;
  if (s.verb == "host") return cuLaunchHostFunc(s.stream, on_host, nullptr);
  if (s.verb == "sync_stream") return cuStreamSynchronize(s.stream);
  if (s.verb == "ask_stream") return cuStreamQuery(s.stream);
  if (s.verb == "signal") return cuStreamWriteValue32(s.stream, word, 1, 0);
  if (s.verb == "await") return cuStreamWaitValue32(s.stream, word, 1, CU_STREAM_WAIT_VALUE_GEQ);
  const CUresult result = cuStreamDestroy(s.stream);  // the program creates it again
  if (result == CUDA_SUCCESS) stream.handle = made(stream);
  return result;
}

CUresult with_context(const Step& s) {
  if (s.verb == "sync_context") return cuCtxSynchronize();
  CUdeviceptr memory = 0;
  if (const CUresult result = cuMemAlloc(&memory, 4096); result != CUDA_SUCCESS) return result;
  return cuMemFree(memory);
}

CUresult perform(Step& s) {
  constexpr const char* kOfEvents = "record wait sync_event ask_event remake_event";
  constexpr const char* kOfContexts = "sync_context memory";
  constexpr const char* kOfGraphs =
      "new_graph instantiate add_child update replay add_kernel add_set change_kernel change_set";
  const auto in = [&](const char* words) {
    return (" " + std::string(words) + " ").find(" " + s.verb + " ") != std::string::npos;
  };
  if (s.verb == "named") return name_nodes(s);
  if (in(kOfGraphs)) return with_graph(s);
  if (in(kOfContexts)) {
    use(s, s.numbers[0]);
    return with_context(s);
  }
  if (in(kOfEvents)) {
    Event& event = events[s.numbers[0]];
    use(s, event.context);
    if (s.numbers.size() > 1) use_stream(s, s.numbers[1]);
    return with_events(s, event.handle);
  }
  use_stream(s, s.numbers[0]);
  if (s.verb == "begin" || s.verb == "end") return with_graph(s);
  if (s.verb != "kernel" && s.verb != "set" && s.verb != "copy") return with_stream(s);
  // The step is: kernel|set|copy STREAM SIZE COUNT.
  s.size = s.numbers[1];
  s.launch = {s.size, 1, 1, 32, 1, 1, 0, s.stream, nullptr, 0};
  CUresult result = CUDA_SUCCESS;
  for (unsigned i = 0; i < s.numbers[2] && (result == CUDA_SUCCESS || ending == "ignore"); ++i) {
    const CUresult issued = issue(s);
    if (result == CUDA_SUCCESS) result = issued;
  }
  return result;
}

bool failed(CUresult result) { return result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY; }

CUresult work(std::vector<Step>& steps, std::barrier<>& meeting) {
  for (Step& step : steps) {
    if (step.verb == "meet") {
      meeting.arrive_and_wait();
      continue;
    }
    const CUresult result = perform(step);
    if (!failed(result)) continue;
    std::printf("%s: error %d at %u\n", step.verb.c_str(), result, step.site);
    if (ending == "ignore") continue;
    std::fflush(stdout);
    if (ending == "exit") std::exit(1);
    if (ending == "abort") std::abort();
    meeting.arrive_and_drop();
    return result;
  }
  meeting.arrive_and_drop();
  return CUDA_SUCCESS;
}

void add_context(const std::string& which) {
  Context context;
  if (which == "own") {
#if CUDA_VERSION >= 13000
    CHECK(cuCtxCreate(&context.handle, nullptr, 0, 0));
#else
    CHECK(cuCtxCreate(&context.handle, 0, 0));
#endif
  } else {
    CHECK(cuDevicePrimaryCtxRetain(&context.handle, std::stoi(which)));
  }
  CHECK(cuCtxSetCurrent(context.handle));
  CHECK(cuModuleLoadData(&context.module, "work"));
  CHECK(cuMemAlloc(&context.to, kBytes));
  CHECK(cuMemAlloc(&context.from, kBytes));
  CHECK(cuMemAlloc(&context.words, 4 * kWords));
  CHECK(cuMemHostAlloc(&context.pinned, kBytes, 0));
  CHECK(cuMemsetD8(context.words, 0, 4 * kWords));
  contexts.push_back(context);
}

// Some verbs have words before their numbers: the kernel, the way to issue it, and the line at which it is issued.
void add_step(unsigned thread, std::istringstream& words) {
  Step step;
  std::string kernel;
  words >> step.verb;
  if (step.verb.ends_with("kernel")) words >> kernel;
  if (step.verb == "kernel" || step.verb == "set" || step.verb == "copy") words >> step.how;
  const bool sited = !step.how.empty() || step.verb == "replay" || step.verb.starts_with("add_kernel") ||
                     step.verb == "add_set" || step.verb.starts_with("change");
  if (sited) words >> step.site;
  for (unsigned number = 0; words >> number;) step.numbers.push_back(number);
  if (!kernel.empty()) {
    // add_kernel and change_kernel take the context after the graph.
    const std::size_t context =
        step.verb == "kernel" ? streams[step.numbers[0]].context : static_cast<std::size_t>(step.numbers[1]);
    CHECK(cuCtxSetCurrent(contexts[context].handle));
    CHECK(cuModuleGetFunction(&step.function, contexts[context].module, kernel.c_str()));
  }
  if (step.verb.starts_with("add_") && step.verb != "add_child") nodes[step.numbers[2]] = nullptr;
  for (std::size_t i = 1; step.verb == "named" && i < step.numbers.size(); ++i) nodes[step.numbers[i]] = nullptr;
  threads[thread].push_back(std::move(step));
}

void read(const char* path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string first, kind;
    std::size_t context = 0;
    words >> first;
    if (first == "context") {
      words >> kind;
      add_context(kind);
    } else if (first == "stream") {
      words >> context >> kind;
      CHECK(cuCtxSetCurrent(contexts[context].handle));
      streams.push_back({context, kind, nullptr});
      streams.back().handle = made(streams.back());
    } else if (first == "event") {
      words >> context;
      CHECK(cuCtxSetCurrent(contexts[context].handle));
      events.push_back({context, nullptr});
      CHECK(cuEventCreate(&events.back().handle, CU_EVENT_DISABLE_TIMING));
    } else if (first == "graph") {
      graphs.push_back(nullptr);
    } else if (first == "exec") {
      execs.push_back(nullptr);
    } else if (first == "end") {
      words >> ending;
    } else {
      add_step(static_cast<unsigned>(std::stoul(first)), words);
    }
  }
}

}  // namespace

int main(int, char** argv) {
  CHECK(cuInit(0));
  threads[0];
  read(argv[1]);
  std::barrier<> meeting(static_cast<std::ptrdiff_t>(threads.size()));
  std::vector<std::thread> others;
  std::atomic<bool> well = true;
  for (auto& [thread, steps] : threads) {
    if (thread == 0) continue;
    others.emplace_back([&well, &meeting, &steps = steps] { well = work(steps, meeting) == CUDA_SUCCESS && well; });
  }
  if (work(threads[0], meeting) != CUDA_SUCCESS) well = false;
  for (std::thread& other : others) other.join();
  if (well && ending != "unasked") {
    for (const Context& context : contexts) {
      CHECK(cuCtxSetCurrent(context.handle));
      if (const CUresult result = cuCtxSynchronize(); result != CUDA_SUCCESS && ending != "ignore") {
        std::printf("error %d\n", result);
        well = false;
      }
    }
  }
  std::puts(well ? "done" : "failed");
  return well ? 0 : 1;
}
