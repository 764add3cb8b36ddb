#include "api/api.h"

#include <sys/mman.h>

#include <chrono>
#include <thread>
#include <utility>
#include <variant>

#include "launch.h"

namespace sim {
namespace {

std::atomic<bool> driver_ready{false};
std::atomic<const char*> own_page{nullptr};  // contains 1, and 0 in a child, however the child was created
std::atomic<std::uint32_t> last_correlation{0};
std::atomic<std::uint32_t> calls_begun{0};  // by threads that have a context
thread_local std::uint32_t runtime_correlation = 0;

struct Announcement {
  CUpti_CallbackIdResource id;
  CUpti_ResourceData resource;
  std::variant<std::monostate, CUpti_ModuleResourceData, CUpti_GraphData> detail;
};

std::vector<Announcement>& announcements() {
  // Never destroyed, because it is used until the thread exits.
  thread_local auto* pending = new std::vector<Announcement>;
  return *pending;
}

bool wanted(CUpti_CallbackIdResource id) { return sim_hooks()->resource[id].load(std::memory_order_relaxed); }

void announce_graph(CUpti_CallbackIdResource id, CUpti_GraphData data) {
  if (wanted(id)) announcements().push_back({id, {current_context(), {nullptr}, nullptr}, data});
}

}  // namespace

std::vector<CUcontext>& context_stack() {
  thread_local auto* stack = new std::vector<CUcontext>;  // never destroyed, because exit handlers still make calls
  return *stack;
}

CUcontext current_context() {
  const auto& stack = context_stack();
  return stack.empty() ? nullptr : stack.back();
}

namespace {

const char* make_own_page() {
  constexpr std::size_t kPage = 4096;
  void* page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED || madvise(page, kPage, MADV_WIPEONFORK) != 0) return nullptr;
  *static_cast<char*>(page) = 1;
  return static_cast<const char*>(page);
}

// Returns whether this process is a forked child, in which all CUDA calls fail. Takes no lock.
bool forked() {
  const char* page = own_page;
  return page != nullptr && *page == 0;
}

// Waits until another thread begins a call, while this thread is inside a call. The time is limited, so that the test
// ends.
void wait_for_another_thread() {
  const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  const std::uint32_t before = calls_begun;
  while (calls_begun == before && std::chrono::steady_clock::now() < latest) std::this_thread::yield();
}

}  // namespace

void set_driver_ready(bool ready) {
  if (own_page == nullptr) own_page = make_own_page();
  driver_ready = ready && own_page != nullptr;
}

CUstream_st* stream_of(CUstream handle, bool per_thread) {
  if (handle == CU_STREAM_PER_THREAD) per_thread = true;
  if (handle != nullptr && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD) {
    return handle->destroyed ? nullptr : handle;
  }
  CUcontext context = current_context();
  if (!per_thread || handle == CU_STREAM_LEGACY) return context->legacy.get();
  auto& own = context->per_thread[std::this_thread::get_id()];
  if (!own) own = Gpu::instance().create_stream(*context, CU_STREAM_DEFAULT, 0);
  return own.get();
}

CUresult admit(const Call& call) {
  if (forked()) return CUDA_ERROR_NOT_INITIALIZED;
  if (call.need == Need::nothing) return CUDA_SUCCESS;
  if (!driver_ready) return CUDA_ERROR_NOT_INITIALIZED;
  Gpu& gpu = Gpu::instance();
  if (call.need != Need::driver) {
    const CUcontext context = current_context();
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    if (!context->alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (const CUresult error = context->error; error != CUDA_SUCCESS) return error;
    ++calls_begun;
  }
  if (gpu.plan.fails_calls()) {
    const Rule* failing = nullptr;
    {
      Gpu::Lock lock(gpu.mutex);
      failing = gpu.plan.failure_of(call.name);
    }
    if (failing != nullptr && failing->beside) wait_for_another_thread();
    if (failing != nullptr) return failing->code;
  }
  return call.need == Need::quiet ? unsafe_during_capture() : CUDA_SUCCESS;
}

Callback::Callback(const Call& call, const void* params, const char* symbol) : call_(call) {
  data_.functionName = call.name;
  data_.functionParams = params;
  data_.symbolName = symbol;
  data_.correlationData = &shared_;
  data_.correlationId = runtime_correlation ? runtime_correlation : ++last_correlation;
}

void Callback::enter() { deliver(CUPTI_API_ENTER); }

void Callback::exit(CUresult* result) {
  data_.functionReturnValue = result;
  deliver(CUPTI_API_EXIT);
}

void Callback::deliver(CUpti_ApiCallbackSite site) {
  data_.callbackSite = site;
  sim_current_context(&data_.context, &data_.contextUid);
  const Hooks& hooks = *sim_hooks();
  if (CUpti_CallbackFunc callback = hooks.callback) {
    callback(hooks.user_data, CUPTI_CB_DOMAIN_DRIVER_API, call_.id, &data_);
  }
}

void announce(CUpti_CallbackIdResource id, CUcontext context, CUstream stream) {
  if (wanted(id)) announcements().push_back({id, {context, {stream}, nullptr}, {}});
}

void announce_module(CUpti_CallbackIdResource id, CUcontext context, CUmodule module) {
  if (!wanted(id)) return;
  const CUpti_ModuleResourceData data{module->id, module->image.size(), module->image.data()};
  announcements().push_back({id, {context, {nullptr}, nullptr}, data});
}

void announce_node(CUgraph_st& graph, CUgraphNode_st& node) {
  CUpti_GraphData data{};
  data.graph = &graph;
  data.node = &node;
  announce_graph(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, data);
}

void announce_clone(CUgraphNode_st& node, CUgraphNode_st& original) {
  CUpti_GraphData data{};
  data.graph = node.graph;
  data.originalGraph = original.graph;
  data.node = &node;
  data.originalNode = &original;
  announce_graph(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, data);
}

void announce_exec(CUgraph graph, CUgraphExec exec) {
  CUpti_GraphData data{};
  data.graph = graph;
  data.graphExec = exec;
  announce_graph(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, data);
}

void deliver_announcements() {
  if (announcements().empty()) return;
  const auto pending = std::exchange(announcements(), {});
  const Hooks& hooks = *sim_hooks();
  for (const Announcement& announcement : pending) {
    CUpti_ResourceData data = announcement.resource;
    if (const auto* module = std::get_if<CUpti_ModuleResourceData>(&announcement.detail)) {
      data.resourceDescriptor = const_cast<CUpti_ModuleResourceData*>(module);
    } else if (const auto* graph = std::get_if<CUpti_GraphData>(&announcement.detail)) {
      data.resourceDescriptor = const_cast<CUpti_GraphData*>(graph);
    }
    if (CUpti_CallbackFunc callback = hooks.callback) {
      callback(hooks.user_data, CUPTI_CB_DOMAIN_RESOURCE, static_cast<CUpti_CallbackId>(announcement.id), &data);
    }
  }
}

}  // namespace sim

extern "C" {

sim::Hooks* sim_hooks() {
  static sim::Hooks& hooks = *new sim::Hooks;
  return &hooks;
}

sim::CuptiPolicy sim_cupti_policy() { return sim::Gpu::instance().plan.cupti(); }

void sim_current_context(CUcontext* context, std::uint32_t* uid) {
  *context = sim::current_context();
  *uid = *context ? (*context)->uid.load() : 0;
}

CUresult sim_context_error() {
  const CUcontext context = sim::current_context();
  return context ? context->error.load() : CUDA_SUCCESS;
}

std::uint32_t sim_next_correlation() { return ++sim::last_correlation; }
std::uint32_t* sim_runtime_correlation() { return &sim::runtime_correlation; }

std::uint32_t sim_stream_id(CUcontext context, CUstream stream, bool per_thread) {
  sim::Gpu::Lock lock(sim::Gpu::instance().mutex);
  sim::context_stack().push_back(context ? context : sim::current_context());
  const CUstream_st* found = sim::current_context() ? sim::stream_of(stream, per_thread) : nullptr;
  sim::context_stack().pop_back();
  return found ? static_cast<std::uint32_t>(found->id) : 0;
}

std::uint64_t sim_graph_node_id(CUgraphNode node) { return node->id; }
std::uint32_t sim_graph_id(CUgraph graph) { return graph->id; }
std::uint32_t sim_context_id(CUcontext context) { return context->uid; }
std::uint32_t sim_context_device(CUcontext context) { return static_cast<std::uint32_t>(context->device); }
void sim_notify() { sim::Gpu::instance().notify(); }

void sim_next_kernel_meets(const sim::Meeting* meetings, std::size_t count) {
  sim::next_meetings().assign(meetings, meetings + count);
}
}
