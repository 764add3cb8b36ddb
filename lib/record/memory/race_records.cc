#include "record/memory/race_records.h"

#include <string.h>

#include "record/libc_substitutes.h"

namespace cudadiag::record {

namespace operation = wire::operation;
namespace race = wire::race;
using operation::Kind;

void RaceRecords::attach(const DriverApi& driver, ParameterLayouts& layouts, Streams& streams,
                         const Allocations& allocations, bool host_writes) {
  driver_ = &driver;
  allocations_ = &allocations;
  streams_ = &streams;
  streams.record_streams();
  words_.attach(layouts);
  if (host_writes) sources_.start(driver);
}

std::byte* RaceRecords::begin_at_call(ThreadState& thread, Kind kind, std::uint32_t stream) {
  std::byte* record = begin(thread, kind, stream);
  // Uses the ticks of the call for all parts of an operation or graph, so that sorting keeps them together.
  wire::store(record, operation::kTicks, wire::load(thread.entry, wire::thread::kCallTicks));
  return record;
}

std::byte* RaceRecords::begin(ThreadState& thread, Kind kind, std::uint32_t stream) {
  std::byte* record = next_record(thread, *streams_);
  memset(record + operation::kSerial.end, 0, wire::area::kOperationSize - operation::kSerial.end);
  wire::store(record, operation::kKind, static_cast<std::uint8_t>(kind));
  wire::store(record, operation::kThread, static_cast<std::uint8_t>(thread.index));
  wire::store(record, operation::kStream, static_cast<std::uint16_t>(stream));
  wire::store(record, operation::kTicks, ticks());
  return record;
}

void RaceRecords::before_kernel(ThreadState& thread, const Call& call, std::uint32_t function) {
  ParameterWords::Found found;
  words_.find(call.function, call.parameters, call.extra, found);
  record_words(thread, found, function);
  if (sources_.on()) watch_kernel(thread, found);
  if (tensor_maps_made_.load(std::memory_order_relaxed)) record_tensor_maps(thread, call);
}

void RaceRecords::record_words(ThreadState& thread, const ParameterWords::Found& found, std::uint32_t function) {
  // A kernel with no address among its parameters may still use textures and surfaces.
  const std::size_t count = found.count == 0 && images_made_.load(std::memory_order_relaxed) ? 1 : found.count;
  for (std::size_t i = 0; i < count; i += race::kWords) {
    std::byte* record = begin_at_call(thread, Kind::parameters);
    wire::store(record, operation::kSite, static_cast<std::uint16_t>(function));
    wire::store(record, race::kZeros, found.zeros);
    const auto put = [&](std::size_t at, auto value, auto offset) {
      if (at >= found.count) return;
      wire::store(record, value, found.words[at].value);
      wire::store(record, offset, found.words[at].offset);
    };
    put(i, race::kWord0, race::kOffset0);
    put(i + 1, race::kWord1, race::kOffset1);
    put(i + 2, race::kWord2, race::kOffset2);
    put(i + 3, race::kWord3, race::kOffset3);
    publish(thread, record);
  }
}

void RaceRecords::before_rows(ThreadState& thread, const Call& call) {
  std::byte* record = begin_at_call(thread, Kind::rows);
  wire::store(record, race::kWidth, call.width);
  wire::store(record, race::kRows, call.rows);
  wire::store(record, race::kDestinationPitch, call.destination_pitch);
  wire::store(record, race::kSourcePitch, call.source_pitch);
  publish(thread, record);
}

void RaceRecords::host_saw(ThreadState& thread, std::uint32_t stream, race::Seen seen, std::uint64_t source,
                           std::uint64_t destination) {
  std::byte* record = begin(thread, Kind::host_saw_stream, stream);
  wire::store(record, race::kWord0, static_cast<std::uint64_t>(seen));
  wire::store(record, race::kWord1, source);
  wire::store(record, race::kWord2, destination);
  publish(thread, record);
}

void RaceRecords::host_saw_context(ThreadState& thread, std::uint32_t context) {
  std::byte* record = begin(thread, Kind::host_saw_context, operation::kNoStream);
  wire::store(record, race::kWord0, context);
  publish(thread, record);
}

void RaceRecords::stranger_met(ThreadState& thread) {
  publish(thread, begin(thread, Kind::stranger_met, operation::kNoStream));
}

// Records that a copy had finished, or can be treated as finished, by the time its call returned. Readers ignore the
// record if both addresses are in device memory. An array has no address, so the record of a copy to or from an array
// contains the other side's address twice.
void RaceRecords::host_waited(ThreadState& thread, const Call& call) {
  const std::uint64_t source = call.source != 0 ? call.source : call.destination;
  const std::uint64_t destination = call.destination != 0 ? call.destination : call.source;
  if (source != 0) host_saw(thread, thread.open.stream, race::kUnlessOnDevices, source, destination);
}

void RaceRecords::issued(ThreadState& thread, std::uint32_t id, const CUpti_CallbackData& data) {
  if (samples() || (thread.open.flags & operation::kCaptured) != 0) return;
  const CallRule& rule = driver_call(id);
  // If the successful return of the call proves that the copy has finished, the copy's own record is enough.
  if ((rule.kind == Kind::copy && !rule.proves_finished) || rule.kind == Kind::memset) {
    Call call;
    rule.decode(data.functionParams, call);
    if (rule.blocks) return host_waited(thread, call);
    if (call.to_host) {
      host_saw(thread, thread.open.stream, race::kIfOnHost, call.from_host ? call.source : 0, call.destination);
    }
  }
  const bool extended =
      id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx || id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz;
  if (!extended) return;
  const CUlaunchConfig* config = static_cast<const cuLaunchKernelEx_params*>(data.functionParams)->config;
  for (unsigned i = 0; config != nullptr && i < config->numAttrs; ++i) {
    // The launch records an event inside the kernel. We cannot follow this event.
    if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT ||
        config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT) {
      return stranger_met(thread);
    }
  }
}

// ---- graphs

namespace {

std::uint64_t order_of(std::uint32_t type) {
  switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
    case CU_GRAPH_NODE_TYPE_MEMCPY:
    case CU_GRAPH_NODE_TYPE_MEMSET:
    case CU_GRAPH_NODE_TYPE_GRAPH:
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return 0;
    case CU_GRAPH_NODE_TYPE_HOST:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
      return race::kTells;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
      return race::kWaits;
    default:
      return race::kTells | race::kWaits;
  }
}

}  // namespace

void RaceRecords::graph_made(ThreadState& thread, CUgraphExec exec, std::uint64_t nodes, std::uint64_t order) {
  if (samples()) return;
  std::byte* record = begin_at_call(thread, Kind::graph_made);
  wire::store(record, race::kWord0, reinterpret_cast<std::uint64_t>(exec));
  wire::store(record, race::kWord1, nodes);
  wire::store(record, race::kWord2, order);
  publish(thread, record);
}

void RaceRecords::graph(ThreadState& thread, CUgraphExec exec, CUgraph graph, Interner& interner, Graphs& graphs) {
  if (samples()) return sampled_graph(exec, graph, interner, graphs);
  GraphDescription description(*driver_);
  host_memory_.gone(exec);
  // Limits the nodes, because the records of more nodes would overwrite each other in the ring.
  constexpr std::size_t kMostNodes = 1200;
  if (graph == nullptr || !description.read(graph, interner)) {
    return graph_made(thread, exec, 0, race::kTells | race::kWaits);
  }
  std::uint64_t order = 0;
  bool runs_host_functions = false;
  for (std::size_t node = 0; node < description.size(); ++node) {
    const std::uint32_t type = wire::load(description.record(node), wire::intern::kNodeType);
    order |= order_of(type);
    runs_host_functions |= type == CU_GRAPH_NODE_TYPE_HOST;
  }
  if (description.size() > kMostNodes) return graph_made(thread, exec, 0, order);
  graph_made(thread, exec, description.size(), order);
  host_memory_.made(exec, {.runs_host_functions = runs_host_functions});
  for (std::size_t node = 0; node < description.size(); ++node) {
    graph_node(thread, exec, description, node, graphs.site_of(description.handle(node)));
  }
  const auto edges = description.edges();
  for (std::size_t i = 0; i < edges.size(); i += 3) {
    std::byte* record = begin_at_call(thread, Kind::graph_edges);
    const auto pair = [&](std::size_t at) {
      return at < edges.size() ? (edges[at].from + 1) | std::uint64_t{edges[at].to + 1} << 32 : 0;
    };
    wire::store(record, race::kWord0, reinterpret_cast<std::uint64_t>(exec));
    wire::store(record, race::kWord1, pair(i));
    wire::store(record, race::kWord2, pair(i + 1));
    wire::store(record, race::kWord3, pair(i + 2));
    publish(thread, record);
  }
}

void RaceRecords::graph_node(ThreadState& thread, CUgraphExec exec, GraphDescription& description, std::size_t node,
                             std::uint32_t site) {
  namespace intern = wire::intern;
  const std::byte* known = description.record(node);
  const std::uint32_t type = wire::load(known, intern::kNodeType);
  const bool in_child = wire::load(known, intern::kNodeParent) != 0;
  const Node to{exec, static_cast<std::uint32_t>(node), type | (in_child ? race::kInChild : 0), site};
  Call call;
  {
    const RelaxedCapture relaxed(*driver_);
    CUDA_KERNEL_NODE_PARAMS kernel = {};
    CUDA_MEMCPY3D copy = {};
    CUDA_MEMSET_NODE_PARAMS fill = {};
    CUDA_HOST_NODE_PARAMS host = {};
    CUevent event = nullptr;
    CUgraphNode handle = description.handle(node);
    if (type == CU_GRAPH_NODE_TYPE_KERNEL && !description.is_device_updatable(node) &&
        driver_->graph_kernel_node_get_params != nullptr &&
        driver_->graph_kernel_node_get_params(handle, &kernel) == CUDA_SUCCESS) {
      ParameterWords::Found found;
      const auto function = kernel.func != nullptr ? kernel.func : reinterpret_cast<CUfunction>(kernel.kern);
      words_.find(function, kernel.kernelParams, kernel.extra, found);
      record_words(thread, found, wire::load(known, intern::kNodeFunction));
    } else if (type == CU_GRAPH_NODE_TYPE_MEMCPY && driver_->graph_memcpy_node_get_params != nullptr &&
               driver_->graph_memcpy_node_get_params(handle, &copy) == CUDA_SUCCESS) {
      read_copy(copy, call);
      const SourceRows rows = host_source(copy, call);
      if (rows.width != 0) host_memory_.add(exec, {handle, to.index, to.type, rows});
      add_use(to, handle, call.source, true);
      add_use(to, handle, call.destination, false);
    } else if (type == CU_GRAPH_NODE_TYPE_MEMSET && driver_->graph_memset_node_get_params != nullptr &&
               driver_->graph_memset_node_get_params(handle, &fill) == CUDA_SUCCESS) {
      call.destination = fill.dst;
      call.width = fill.width * fill.elementSize;
      call.rows = static_cast<std::uint32_t>(fill.height);
      call.destination_pitch = fill.pitch;
      call.argument = call.width * fill.height;
      add_use(to, handle, call.destination, false);
    } else if (type == CU_GRAPH_NODE_TYPE_HOST && driver_->graph_host_node_get_params != nullptr &&
               driver_->graph_host_node_get_params(handle, &host) == CUDA_SUCCESS) {
      add_use(to, handle, reinterpret_cast<std::uint64_t>(host.userData), true);
    } else if (type == CU_GRAPH_NODE_TYPE_EVENT_RECORD && driver_->graph_event_record_node_get_event != nullptr &&
               driver_->graph_event_record_node_get_event(handle, &event) == CUDA_SUCCESS) {
      call.destination = reinterpret_cast<std::uint64_t>(event);
    } else if (type == CU_GRAPH_NODE_TYPE_WAIT_EVENT && driver_->graph_event_wait_node_get_event != nullptr &&
               driver_->graph_event_wait_node_get_event(handle, &event) == CUDA_SUCCESS) {
      call.destination = reinterpret_cast<std::uint64_t>(event);
    }
  }
  graph_node(thread, to, call);
}

void RaceRecords::graph_node(ThreadState& thread, const Node& node, const Call& call) {
  if (call.rows != 1) before_rows(thread, call);
  std::byte* record = begin_at_call(thread, Kind::graph_node);
  wire::store(record, operation::kSite, static_cast<std::uint16_t>(node.site <= 0xffff ? node.site : 0));
  wire::store(record, race::kNode, node.index);
  wire::store(record, race::kNodeType, node.type);
  wire::store(record, race::kWord0, reinterpret_cast<std::uint64_t>(node.exec));
  wire::store(record, race::kWord1, call.destination);
  wire::store(record, race::kWord2, call.source);
  wire::store(record, race::kWord3, call.argument);
  publish(thread, record);
}

// Returns the host memory that a copy node reads; no bytes if it reads none, or none that may be read by the recorder.
// CUDA's own host memory that is not listed as pinned is write-combined or managed.
SourceRows RaceRecords::host_source(const CUDA_MEMCPY3D& copy, const Call& call) {
  if (!sources_.on() || call.source == 0 || call.rows == 0 || call.argument == 0) return {};
  SourceRows rows = call.rows == 1 ? SourceRows{call.source, call.argument, 0, 1}
                                   : SourceRows{call.source, call.width, call.source_pitch, call.rows};
  if (sources_.pinned().contain(rows.address, rows.end())) return rows;
  rows.pageable = !samples() && copy.srcMemoryType == CU_MEMORYTYPE_HOST && !is_known(rows);
  return rows.pageable ? rows : SourceRows{};
}

bool RaceRecords::is_known(const SourceRows& rows) const {
  bool known = false;
  allocations_->each_living([&](std::uint64_t address, std::uint64_t bytes, wire::allocation::Kind) {
    known |= rows.address < address + bytes && address < rows.end();
  });
  return known;
}

void RaceRecords::met(ThreadState& thread, std::uint64_t address, std::uint32_t site, std::uintptr_t frame) {
  if (!sources_.on() || samples() || address == 0 || site == 0) return;
  // Device memory is not readable, and most of it is unknown to the allocator of the C library.
  if (is_readable(address & ~std::uint64_t{7}) && !is_known({address, 1, 0, 1}))
    captured_.met(thread, address, site, frame);
}

void RaceRecords::captured(ThreadState& thread, std::uint32_t id, const void* parameters, const Call& call,
                           std::uintptr_t frame) {
  if (id == CUPTI_DRIVER_TRACE_CBID_cuLaunchHostFunc || id == CUPTI_DRIVER_TRACE_CBID_cuLaunchHostFunc_ptsz) {
    void* argument = static_cast<const cuLaunchHostFunc_params*>(parameters)->userData;
    return met(thread, reinterpret_cast<std::uint64_t>(argument), thread.open.site, frame);
  }
  met(thread, call.source, thread.open.site, frame);
  met(thread, call.destination, thread.open.site, frame);
}

namespace {

// Calls each(address) for the addresses that the call gives to a copy, a memset or a host function.
template <typename Each>
void each_given(std::uint32_t id, const void* p, Each each) {
  const auto copy = [&](const CUDA_MEMCPY3D* given) {
    Call call;
    if (given == nullptr) return;
    read_copy(*given, call);
    each(call.source), each(call.destination);
  };
  const auto function = [&](const void* data) { each(reinterpret_cast<std::uint64_t>(data)); };
  const auto any = [&](const CUgraphNodeParams* given) {
    if (given == nullptr) return;
    if (given->type == CU_GRAPH_NODE_TYPE_MEMCPY) copy(&given->memcpy.copyParams);
    if (given->type == CU_GRAPH_NODE_TYPE_MEMSET) each(given->memset.dst);
    if (given->type == CU_GRAPH_NODE_TYPE_HOST) function(given->host.userData);
  };
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddMemcpyNode:
      return copy(static_cast<const cuGraphAddMemcpyNode_params*>(p)->copyParams);
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecMemcpyNodeSetParams:
      return copy(static_cast<const cuGraphExecMemcpyNodeSetParams_params*>(p)->copyParams);
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddMemsetNode:
      return each(static_cast<const cuGraphAddMemsetNode_params*>(p)->memsetParams->dst);
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddHostNode:
      return function(static_cast<const cuGraphAddHostNode_params*>(p)->nodeParams->userData);
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode:
      return any(static_cast<const cuGraphAddNode_params*>(p)->nodeParams);
    case CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode_v2:
      return any(static_cast<const cuGraphAddNode_v2_params*>(p)->nodeParams);
    default:
      return;
  }
}

}  // namespace

void RaceRecords::node_given(ThreadState& thread, std::uint32_t id, const void* parameters, std::uint32_t site,
                             std::uintptr_t frame) {
  each_given(id, parameters, [&](std::uint64_t address) { met(thread, address, site, frame); });
}

void RaceRecords::add_use(const Node& node, CUgraphNode handle, std::uint64_t address, bool is_source) {
  const CapturedMemory::Number memory = address == 0 || node.site == 0 ? 0 : captured_.find(address, node.site);
  if (memory != 0)
    host_memory_.add_use(node.exec, {handle, node.index, node.type, node.site, is_source, address, memory});
}

void RaceRecords::node_set(ThreadState& thread, const GraphCall& call, std::uint32_t site) {
  if (samples()) return sampled_node_set(call, site);
  if (call.copy != nullptr) {
    Call copy;
    read_copy(*call.copy, copy);
    const HostSource known = host_memory_.set(call.exec, call.node, host_source(*call.copy, copy), site);
    host_memory_.forget_uses(call.exec, call.node);
    if (known.node != nullptr) {
      const Node node{call.exec, known.index, known.type, site};
      add_use(node, call.node, copy.source, true);
      add_use(node, call.node, copy.destination, false);
      return graph_node(thread, node, copy);
    }
  } else if (call.memset != nullptr) {
    host_memory_.forget_uses(call.exec, call.node);
  } else if (call.kernel == nullptr) {
    host_memory_.gone(call.exec);
  }
  graph_changed(thread, call.exec);
}

void RaceRecords::stream_made(ThreadState& thread, CUstream stream, const CUpti_CallbackData& data) {
  streams_->find(thread, {stream, false}, data.contextUid);
}

void RaceRecords::event_made(ThreadState& thread, CUevent event) {
  std::byte* record = begin(thread, Kind::event_made, operation::kNoStream);
  wire::store(record, race::kWord0, reinterpret_cast<std::uint64_t>(event));
  publish(thread, record);
}

// Uses the ticks of ENTER, because the handle may already belong to another event by the time the call returns.
void RaceRecords::event_gone(ThreadState& thread, CUevent event) {
  std::byte* record = begin_at_call(thread, Kind::event_made);
  wire::store(record, race::kWord0, reinterpret_cast<std::uint64_t>(event));
  wire::store(record, race::kWord1, 1u);
  publish(thread, record);
}

void RaceRecords::host_saw_event(ThreadState& thread, CUevent event) {
  std::byte* record = begin(thread, Kind::event_sync, operation::kNoStream);
  wire::store(record, operation::kFlags, std::uint8_t{operation::kReturned});
  wire::store(record, operation::kArgument, reinterpret_cast<std::uint64_t>(event));
  wire::store(record, operation::kBegan, wire::load(thread.entry, wire::thread::kCallTicks));
  publish(thread, record);
}

void RaceRecords::returned(ThreadState& thread, std::uint32_t id, const CUpti_CallbackData& data) {
  const void* p = data.functionParams;
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuEventCreate:
      return event_made(thread, *static_cast<const cuEventCreate_params*>(p)->phEvent);
    case CUPTI_DRIVER_TRACE_CBID_cuEventDestroy_v2:
      return event_gone(thread, static_cast<const cuEventDestroy_v2_params*>(p)->hEvent);
    case CUPTI_DRIVER_TRACE_CBID_cuEventElapsedTime:
    case CUPTI_DRIVER_TRACE_CBID_cuEventElapsedTime_v2: {
      const auto& both = *static_cast<const cuEventElapsedTime_params*>(p);
      host_saw_event(thread, both.hStart);
      return host_saw_event(thread, both.hEnd);
    }
    // Records the stream before the program can capture it: querying the flags of a stream under capture would break
    // the capture.
    case CUPTI_DRIVER_TRACE_CBID_cuStreamCreate:
      return stream_made(thread, *static_cast<const cuStreamCreate_params*>(p)->phStream, data);
    case CUPTI_DRIVER_TRACE_CBID_cuStreamCreateWithPriority:
      return stream_made(thread, *static_cast<const cuStreamCreateWithPriority_params*>(p)->phStream, data);
    case CUPTI_DRIVER_TRACE_CBID_cuGreenCtxStreamCreate:
      return stream_made(thread, *static_cast<const cuGreenCtxStreamCreate_params*>(p)->phStream, data);
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecEventRecordNodeSetEvent:
      return graph_changed(thread, static_cast<const cuGraphExecEventRecordNodeSetEvent_params*>(p)->hGraphExec);
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecEventWaitNodeSetEvent:
      return graph_changed(thread, static_cast<const cuGraphExecEventWaitNodeSetEvent_params*>(p)->hGraphExec);
    case CUPTI_DRIVER_TRACE_CBID_cuCtxRecordEvent:
    case CUPTI_DRIVER_TRACE_CBID_cuCtxWaitEvent:
    case CUPTI_DRIVER_TRACE_CBID_cuGreenCtxRecordEvent:
    case CUPTI_DRIVER_TRACE_CBID_cuGreenCtxWaitEvent:
      return stranger_met(thread);
    default:
      return image_returned(thread, id, data);
  }
}

void RaceRecords::memory(ThreadState& thread, std::uint32_t id, const MemoryCall& call, std::uint32_t stream,
                         std::uint32_t context, std::uint32_t site) {
  if (call.address == 0 || samples()) return;
  const bool made = call.what == MemoryCall::What::makes;
  if (made) words_.memory_made(call.address, call.bytes);
  // Uses the ticks of ENTER for freed memory, because another thread may already own the memory by the time the call
  // returns.
  std::byte* record =
      made ? begin(thread, Kind::memory_made, stream) : begin_at_call(thread, Kind::memory_freed, stream);
  wire::store(record, operation::kSite, static_cast<std::uint16_t>(site <= 0xffff ? site : 0));
  wire::store(record, race::kWord0, call.address);
  wire::store(record, race::kWord1, made ? call.bytes : context);
  // These calls return only after all work that may use the memory has finished.
  const bool waits = id == CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2 || id == CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost ||
                     id == CUPTI_DRIVER_TRACE_CBID_cuMemHostUnregister;
  wire::store(record, race::kWord2, made ? static_cast<std::uint64_t>(call.kind) : waits ? 1u : 0u);
  wire::store(record, race::kWord3, made ? context : 0u);
  publish(thread, record);
}

}  // namespace cudadiag::record
