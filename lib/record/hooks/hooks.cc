#include "record/hooks/hooks.h"

#include <cupti.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <iterator>
#include <span>
#include <tuple>

#include "record/calls/call_rules.h"
#include "record/calls/memory_and_graph_call_rules.h"
#include "record/hooks/wrapper.h"
#include "record/rerun/loaded_images.h"
#include "record/this_thread.h"

namespace cudadiag::record {

namespace {

std::atomic<Hooks*> g_hooks;
Redirection g_redirection;
void (*g_initialised)();

// Effects of a call. CUPTI reports them in separate callbacks, but with hooks they must be derived from the call.
enum class Effect : std::uint8_t {
  none,
  stream_ends,
  context_ends,
  primary_context_made,
  primary_context_ends,
  primary_context_may_end,
  loads_code,
  module_ends,
  capture_begins,
  capture_ends,
  gives_address,
  adds_node,
  copies_graph,
  adds_child,
};

constexpr std::array<Effect, Passage::kMostCalls> kEffects = [] {
  std::array<Effect, Passage::kMostCalls> effects{};
  const auto set = [&](Effect effect, auto... ids) { ((effects[ids] = effect), ...); };
  set(Effect::stream_ends, CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy, CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2);
  set(Effect::context_ends, CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy, CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2);
  set(Effect::primary_context_made, CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRetain);
  set(Effect::primary_context_ends, CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset,
      CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2);
  set(Effect::primary_context_may_end, CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease,
      CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease_v2);
  set(Effect::loads_code, CUPTI_DRIVER_TRACE_CBID_cuModuleLoad, CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData,
      CUPTI_DRIVER_TRACE_CBID_cuModuleLoadDataEx, CUPTI_DRIVER_TRACE_CBID_cuModuleLoadFatBinary,
      CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadData, CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadFromFile);
  set(Effect::module_ends, CUPTI_DRIVER_TRACE_CBID_cuModuleUnload, CUPTI_DRIVER_TRACE_CBID_cuLibraryUnload);
  set(Effect::gives_address, CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress, CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress_v2);
  set(Effect::copies_graph, CUPTI_DRIVER_TRACE_CBID_cuGraphClone);
  set(Effect::adds_child, CUPTI_DRIVER_TRACE_CBID_cuGraphAddChildGraphNode);
  set(Effect::capture_begins, CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture,
      CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz, CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2,
      CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz, CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph,
      CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz);
  set(Effect::capture_ends, CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture,
      CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz);
  for (std::uint32_t id = 1; id < effects.size(); ++id) {
    const bool adds = graph_call(id) == GraphCall::What::add_node;
    if (adds && effects[id] == Effect::none) effects[id] = Effect::adds_node;
  }
  return effects;
}();

template <typename Parameters>
const Parameters& as(const CUpti_CallbackData& data) {
  return *static_cast<const Parameters*>(data.functionParams);
}

// If a look-up has found a function that has a wrapper, returns the wrapper's address to the program instead.
void give_wrapper(std::uint32_t id, const CUpti_CallbackData& data) {
  void** given = id == CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress ? as<cuGetProcAddress_params>(data).pfn
                                                                : as<cuGetProcAddress_v2_params>(data).pfn;
  if (given != nullptr && *given != nullptr) *given = wrapper_of(*given);
}

// A runtime may be loaded later, so its calls are named and watched from the start.
void name_calls(CUpti_CallbackDomain domain, std::span<const EntryPoint> entries) {
  for (const EntryPoint& entry : entries) {
    if (*entry.original != nullptr || domain == CUPTI_CB_DOMAIN_RUNTIME_API)
      Passage::name(domain, entry.call, entry.name);
  }
}

// Redirects the driver, and watches the calls that are needed before the recorder exists.
void redirect() {
  g_redirection = redirect_driver();
  if (g_redirection.outcome != Redirection::Outcome::done) return;
  name_calls(CUPTI_CB_DOMAIN_DRIVER_API, driver_entry_points());
  for (const std::uint32_t call : {CUPTI_DRIVER_TRACE_CBID_cuInit, CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress,
                                   CUPTI_DRIVER_TRACE_CBID_cuGetProcAddress_v2}) {
    Passage::watch(CUPTI_CB_DOMAIN_DRIVER_API, call);
  }
}

// Returns the size of the file; 0 if it cannot be read or does not fit. A mapping of the file would raise SIGBUS if the
// program truncated it.
std::size_t read_file(const char* name, std::span<std::byte> to) {
  const Uncancelled uncancelled;
  const int file = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  std::size_t size = 0;
  ssize_t got = 0;
  while (file >= 0 && (got = read(file, to.data() + size, to.size() - size)) > 0) size += static_cast<std::size_t>(got);
  if (file >= 0) close(file);
  return size < to.size() ? size : 0;
}

bool succeeded(const CUpti_CallbackData& data) {
  return *static_cast<const std::uint32_t*>(data.functionReturnValue) == 0;
}

}  // namespace

// ---- start

Redirection Hooks::redirect_early(void (*initialised)()) {
  g_initialised = initialised;
  redirect();
  return g_redirection;
}

Redirection Hooks::start(CUpti_CallbackFunc callback, const DriverApi& driver) {
  callback_ = callback;
  driver_ = driver;
  if (g_redirection.outcome != Redirection::Outcome::done) redirect();
  if (g_redirection.outcome == Redirection::Outcome::done) {
    name_calls(CUPTI_CB_DOMAIN_RUNTIME_API, runtime_entry_points(0));
    g_hooks.store(this, std::memory_order_release);
  }
  return g_redirection;
}

void Hooks::enable(CUpti_CallbackDomain domain, std::uint32_t id) {
  const bool of_call = domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  if (of_call && id < Passage::kMostCalls) Passage::watch(domain, id);
  if (domain == CUPTI_CB_DOMAIN_RESOURCE && id < resources_.size()) resources_[id] = true;
}

std::string_view Hooks::call_name(CUpti_CallbackDomain domain, std::uint32_t id) const {
  const bool of_call = domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  const char* name = of_call ? Passage::name_of(domain, id) : nullptr;
  return name == nullptr ? std::string_view() : name;
}

// ---- contexts

void Hooks::meet(CUcontext context, std::uint32_t uid) {
  for (Known& known : contexts_) {
    if (known.context.load(std::memory_order_acquire) != context || known.uid.load() == uid) continue;
    // A new context has the address of a known one, so the destruction of the known context was missed.
    tell(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, context, nullptr, nullptr);
    known.uid.store(uid, std::memory_order_release);
    return;
  }
  if (context_uid(context) != 0) return;
  const LockGuard lock(mutex_);
  for (Known& known : contexts_) {
    if (known.context.load() != nullptr) continue;
    known.uid.store(uid, std::memory_order_release);
    known.context.store(context, std::memory_order_release);
    return;
  }
}

std::uint32_t Hooks::context_uid(CUcontext context) const {
  for (const Known& known : contexts_) {
    if (known.context.load(std::memory_order_acquire) == context) return known.uid.load(std::memory_order_acquire);
  }
  return 0;
}

// Drivers before CUDA 12.0 do not number contexts, so the recorder does.
std::uint32_t Hooks::number_of(CUcontext context) {
  unsigned long long number = 0;
  if (driver_.ctx_get_id != nullptr) {
    return driver_.ctx_get_id(context, &number) == CUDA_SUCCESS ? static_cast<std::uint32_t>(number) : 0;
  }
  const std::uint32_t known = context_uid(context);
  return known != 0 ? known : next_uid_.fetch_add(1);
}

std::pair<CUcontext, std::uint32_t> Hooks::current(ThisThread& self) {
  CUcontext context = nullptr;
  if (driver_.ctx_get_current == nullptr || driver_.ctx_get_current(&context) != CUDA_SUCCESS) context = nullptr;
  if (context == nullptr) return {};
  const std::uint32_t uid = number_of(context);
  if (uid == 0) return {};
  if (context != self.context || uid != self.context_uid) [[unlikely]] {
    meet(context, uid);
    self.context = context, self.context_uid = uid;
  }
  return {context, uid};
}

void Hooks::context_ends(CUcontext context) {
  if (context == nullptr || context_uid(context) == 0) return;
  tell(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, context, nullptr, nullptr);
  for (Known& known : contexts_) {
    CUcontext expected = context;
    known.context.compare_exchange_strong(expected, nullptr);
  }
}

// ---- what CUPTI reports besides calls

void Hooks::tell(std::uint32_t id, CUcontext context, CUstream stream, const void* descriptor) {
  if (!resources_[id]) return;
  CUpti_ResourceData data{};
  data.context = context;
  data.resourceHandle.stream = stream;
  data.resourceDescriptor = const_cast<void*>(descriptor);
  callback_(nullptr, CUPTI_CB_DOMAIN_RESOURCE, id, &data);
}

// CUPTI reports the code that the driver loads. Here, it is found in the image that the program passed to the driver.
void Hooks::code_loaded(std::uint32_t id, const CUpti_CallbackData& data) {
  if (!resources_[CUPTI_CBID_RESOURCE_MODULE_LOADED] || driver_.device_get_attribute == nullptr) return;
  std::array<std::uint32_t, kMostArchitectures> architectures{};
  std::size_t count = 0;
  int major = 0, minor = 0;
  for (int device = 0; count < architectures.size(); ++device, ++count) {
    if (driver_.device_get_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) != CUDA_SUCCESS ||
        driver_.device_get_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device) != CUDA_SUCCESS) {
      break;
    }
    architectures[count] = static_cast<std::uint32_t>(10 * major + minor);
  }
  struct Report {
    Hooks& hooks;
    CUcontext context;
  } report{*this, data.context};
  const auto tell_cubin = [](std::span<const std::byte> cubin, void* to) {
    CUpti_ModuleResourceData module{};
    module.cubinSize = cubin.size();
    module.pCubin = reinterpret_cast<const char*>(cubin.data());
    const auto& [hooks, context] = *static_cast<Report*>(to);
    hooks.tell(CUPTI_CBID_RESOURCE_MODULE_LOADED, context, nullptr, &module);
  };
  const std::span wanted(architectures.data(), count);
  const LoadCall call = load_call(id, data.functionParams);
  const int error = errno;
  struct Contents {
    std::byte bytes[std::size_t{64} << 20];
  };
  if (call.file != nullptr) {
    const Scratch<Contents> contents;
    if (contents) each_cubin({contents->bytes, read_file(call.file, contents->bytes)}, wanted, tell_cubin, &report);
  } else if (const ImageExtent image = image_extent(call.code); image.size >= sizeof(std::uint64_t)) {
    // The size follows from headers, which may describe parts that are not in memory.
    const auto last = reinterpret_cast<std::uintptr_t>(image.begin + image.size - sizeof(std::uint64_t));
    if (is_readable(last)) each_cubin({image.begin, image.size}, wanted, tell_cubin, &report);
  }
  errno = error;
}

void Hooks::report_node(std::uint32_t id, CUgraph graph, CUgraphNode node, CUgraphNode original) {
  CUpti_GraphData data{};
  data.graph = graph;
  data.node = node;
  data.originalNode = original;
  tell(id, nullptr, nullptr, &data);
}

// Called after the ENTER callback, before the driver's function runs.
void Hooks::before(std::uint32_t id, const CUpti_CallbackData& data) {
  switch (kEffects[id]) {
    case Effect::stream_ends:
      tell(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, data.context, as<cuStreamDestroy_v2_params>(data).hStream,
           nullptr);
      break;
    case Effect::context_ends:
      context_ends(as<cuCtxDestroy_v2_params>(data).ctx);
      break;
    case Effect::primary_context_ends: {
      const auto device = static_cast<std::size_t>(as<cuDevicePrimaryCtxReset_v2_params>(data).dev);
      if (device < primary_.size()) context_ends(primary_[device].load());
      break;
    }
    case Effect::module_ends:
      tell(CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, data.context, nullptr, nullptr);
      break;
    default:
      break;
  }
}

// Called before the EXIT callback.
void Hooks::after(std::uint32_t id, const CUpti_CallbackData& data) {
  if (kEffects[id] == Effect::capture_ends) {
    std::uint32_t open = captures_.load();
    while (open > 0 && !captures_.compare_exchange_weak(open, open - 1)) {
    }
  }
  if (!succeeded(data)) return;
  switch (kEffects[id]) {
    case Effect::primary_context_made: {
      const auto& made = as<cuDevicePrimaryCtxRetain_params>(data);
      const auto device = static_cast<std::size_t>(made.dev);
      if (device < primary_.size() && made.pctx != nullptr) primary_[device].store(*made.pctx);
      break;
    }
    case Effect::primary_context_may_end: {
      const auto device = static_cast<std::size_t>(as<cuDevicePrimaryCtxRelease_v2_params>(data).dev);
      unsigned flags = 0;
      int active = 1;
      if (device < primary_.size() && driver_.device_primary_ctx_get_state != nullptr &&
          driver_.device_primary_ctx_get_state(static_cast<CUdevice>(device), &flags, &active) == CUDA_SUCCESS &&
          active == 0) {
        context_ends(primary_[device].load());
      }
      break;
    }
    case Effect::loads_code:
      code_loaded(id, data);
      break;
    case Effect::capture_begins:
      captures_.fetch_add(1);
      break;
    case Effect::gives_address:
      give_wrapper(id, data);
      break;
    case Effect::adds_node:
    case Effect::adds_child:
      node_added(id, data.functionParams);
      break;
    case Effect::copies_graph: {
      const auto& copied = as<cuGraphClone_params>(data);
      if (copied.phGraphClone != nullptr) graph_copied(copied.originalGraph, *copied.phGraphClone, 0);
      break;
    }
    default:
      break;
  }
}

// ---- nodes of graphs

// Reports the node that a captured operation has created: the last node of its stream. Events join streams to a capture
// and create no node, so the last node would be another operation's.
void Hooks::after_captured(std::uint32_t id, const CUpti_CallbackData& data) {
  const CallRule& rule = driver_call(id);
  if (rule.role != Role::operation || rule.decode == nullptr || !succeeded(data)) return;
  if (rule.kind == wire::operation::Kind::event_record || rule.kind == wire::operation::Kind::event_wait) return;
  Call call;
  rule.decode(data.functionParams, call);
  const CUstream stream = call.stream.handle == nullptr && rule.per_thread ? CU_STREAM_PER_THREAD : call.stream.handle;
  if (stream == nullptr) return;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUgraph graph = nullptr;
  const CUgraphNode* last = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  std::size_t count = 0;
  CUresult result = CUDA_ERROR_NOT_FOUND;
  if (driver_.stream_get_capture_info != nullptr) {
    result = driver_.stream_get_capture_info(stream, &status, nullptr, &graph, &last, &edges, &count);
  } else if (driver_.stream_get_capture_info_v2 != nullptr) {
    result = driver_.stream_get_capture_info_v2(stream, &status, nullptr, &graph, &last, &count);
  }
  if (result != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_ACTIVE || count != 1) return;
  report_node(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, graph, *last, nullptr);
}

void Hooks::node_added(std::uint32_t id, const void* parameters) {
  // In all of these structures, the first member is the output pointer for the new node, and the second is the graph.
  const auto& added = *static_cast<const cuGraphAddChildGraphNode_params*>(parameters);
  if (added.phGraphNode == nullptr) return;
  const CUgraphNode node = *added.phGraphNode;
  report_node(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, added.hGraph, node, nullptr);
  CUgraph child = id == CUPTI_DRIVER_TRACE_CBID_cuGraphAddChildGraphNode ? added.childGraph : nullptr;
  const CUgraphNodeParams* given = nullptr;
  if (id == CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode) {
    given = static_cast<const cuGraphAddNode_params*>(parameters)->nodeParams;
  } else if (id == CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode_v2) {
    given = static_cast<const cuGraphAddNode_v2_params*>(parameters)->nodeParams;
  }
  if (given != nullptr && given->type == CU_GRAPH_NODE_TYPE_GRAPH) child = given->graph.graph;
  CUgraph embedded = nullptr;
  if (child != nullptr && driver_.graph_child_get_graph != nullptr &&
      driver_.graph_child_get_graph(node, &embedded) == CUDA_SUCCESS) {
    graph_copied(child, embedded, 0);
  }
}

// Pairs the nodes by position, because the driver lists the nodes of a copied graph in the order of the original graph.
void Hooks::graph_copied(CUgraph original, CUgraph copy, int depth) {
  constexpr std::size_t kMostNodes = 1u << 14;
  constexpr int kDeepest = 8;
  struct Nodes {
    CUgraphNode of_original[kMostNodes], of_copy[kMostNodes];
  };
  const Scratch<Nodes> nodes;
  std::size_t count = kMostNodes, copied = kMostNodes;
  if (!nodes || depth > kDeepest || driver_.graph_get_nodes == nullptr ||
      driver_.graph_get_nodes(original, nodes->of_original, &count) != CUDA_SUCCESS ||
      driver_.graph_get_nodes(copy, nodes->of_copy, &copied) != CUDA_SUCCESS || count != copied) {
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    report_node(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, copy, nodes->of_copy[i], nodes->of_original[i]);
    CUgraphNodeType type{};
    CUgraph below = nullptr, below_copy = nullptr;
    if (driver_.graph_node_get_type(nodes->of_original[i], &type) == CUDA_SUCCESS && type == CU_GRAPH_NODE_TYPE_GRAPH &&
        driver_.graph_child_get_graph(nodes->of_original[i], &below) == CUDA_SUCCESS &&
        driver_.graph_child_get_graph(nodes->of_copy[i], &below_copy) == CUDA_SUCCESS) {
      graph_copied(below, below_copy, depth + 1);
    }
  }
}

// ---- a call

void Passage::watch(CUpti_CallbackDomain domain, std::uint32_t call) {
  const bool simple =
      domain == CUPTI_CB_DOMAIN_DRIVER_API && kEffects[call] == Effect::none && driver_call(call).only_issues;
  // Release order: a thread that sees this value also sees the names and the hooks.
  watched_[index(domain)][call].store(simple ? Watched::simple : Watched::yes, std::memory_order_release);
}

Passage::Passage(ThisThread& self, CUpti_CallbackDomain domain, std::uint32_t call, Watched watched,
                 const void* parameters)
    : self_(self),
      hooks_(g_hooks.load(std::memory_order_acquire)),
      domain_(domain),
      call_(call),
      watched_as_(watched),
      data_{} {
  data_.callbackSite = CUPTI_API_ENTER;
  data_.functionName = name_of(domain, call);
  data_.functionParams = parameters;
  data_.functionReturnValue = &result_;
  if (hooks_ == nullptr) [[unlikely]]
    return;
  // For a runtime call, the context is needed only if the call fails.
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) [[likely]]
    std::tie(data_.context, data_.contextUid) = hooks_->current(self);
  hooks_->callback_(&self, domain, call, &data_);
  if (watched != Watched::simple && domain == CUPTI_CB_DOMAIN_DRIVER_API) hooks_->before(call, data_);
}

void Passage::leave(std::uint32_t result) {
  result_ = result;
  data_.callbackSite = CUPTI_API_EXIT;
  if (hooks_ == nullptr || watched_as_ != Watched::simple || hooks_->captures_.load(std::memory_order_relaxed) != 0)
      [[unlikely]] {
    return leave_other();
  }
  hooks_->callback_(&self_, domain_, call_, &data_);
}

void Passage::leave_other() {
  const bool of_driver = domain_ == CUPTI_CB_DOMAIN_DRIVER_API;
  if (hooks_ == nullptr) {
    // The recorder does not exist yet. Only cuInit and look-ups need handling.
    if (result_ != 0 || !of_driver) return;
    if (call_ == CUPTI_DRIVER_TRACE_CBID_cuInit && g_initialised != nullptr) g_initialised();
    if (kEffects[call_] == Effect::gives_address) give_wrapper(call_, data_);
    return;
  }
  if (of_driver ? !driver_call(call_).only_issues : result_ != 0) {
    std::tie(data_.context, data_.contextUid) = hooks_->current(self_);
  }
  if (of_driver) hooks_->after(call_, data_);
  if (of_driver && hooks_->captures_.load(std::memory_order_relaxed) != 0) hooks_->after_captured(call_, data_);
  hooks_->callback_(&self_, domain_, call_, &data_);
}

}  // namespace cudadiag::record
