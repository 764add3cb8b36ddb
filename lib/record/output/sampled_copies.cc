// The sampled form of RaceRecords (race_records.h): it follows what can reach the sources of copies, and keeps the changes
// as properties of the process.
#include <stdio.h>

#include <array>

#include "record/output/race_records.h"

namespace cudadiag::record {

using wire::operation::Kind;

void RaceRecords::sample(const DriverApi& driver, ParameterLayouts& layouts, Streams& streams, Interner& interner,
                         std::uint32_t every) {
  if (!driver.can_mark() || (driver.func_get_param_info == nullptr && driver.kernel_get_param_info == nullptr)) return;
  driver_ = &driver;
  layouts_ = &layouts;
  streams_ = &streams;
  interner_ = &interner;
  words_.attach(layouts);
  const auto has_finished = [](const void* all, std::uint32_t stream, std::uint32_t ordinal) {
    return static_cast<const Streams*>(all)->finished(stream, ordinal);
  };
  sources_.sample({&streams, has_finished}, every);
}

void RaceRecords::memory_made(std::uint32_t id, const void* parameters, const MemoryCall& call) {
  sources_.pinned().made(id, parameters, call.address, call.bytes);
  using wire::allocation::Kind;
  const bool by_host = call.kind == Kind::pinned || call.kind == Kind::registered || call.kind == Kind::managed;
  if (!samples() || !by_host) return;
  words_.memory_made(call.address, call.bytes);
  if (!reachable_.add(call.address, call.bytes)) sources_.end();
  // Kernels of graphs may already have addresses of this memory.
  if (call.kind == Kind::registered) host_memory_.all_gone();
}

void RaceRecords::watch_sampled(ThreadState& thread, const CopySources::Sampled* sources, std::size_t count) {
  const OpenOperation& open = thread.open;
  // The entry of a stream with very many operations may soon be reused.
  if (open.ordinal == 0 || open.ordinal >= Streams::kOldOrdinal) return;
  thread.watched = sources_.watch_sampled({open.site, thread.index}, {open.stream, open.ordinal}, sources, count);
  if (thread.watched != 0) thread.open.mark = true;
}

// Returns true if the kernel has an address of host memory among its parameters, or if they are not all known.
bool RaceRecords::may_reach_host(const Call& call) {
  const bool given = call.parameters != nullptr || call.extra != nullptr;
  if (call.function == nullptr || (layouts_->of(call.function).count != 0) != given) return true;
  ParameterWords::Found found;
  words_.find(call.function, call.parameters, call.extra, found);
  if (found.count == found.words.size()) return true;
  for (std::size_t i = 0; i < found.count; ++i) {
    if (reachable_.end_around(found.words[i].value) != 0) return true;
  }
  return false;
}

bool RaceRecords::may_reach_host(const CUDA_KERNEL_NODE_PARAMS& kernel) {
  Call call;
  call.function = kernel.func != nullptr ? kernel.func : reinterpret_cast<CUfunction>(kernel.kern);
  call.parameters = kernel.kernelParams;
  call.extra = kernel.extra;
  return may_reach_host(call);
}

// The host may watch the memory that a copy in a graph fills, to find out how far the graph has come.
bool RaceRecords::reaches_host(const CUDA_MEMCPY3D& node, const Call& copy) const {
  return node.dstMemoryType == CU_MEMORYTYPE_HOST || reachable_.end_around(copy.destination) != 0;
}

void RaceRecords::sampled_graph(CUgraphExec exec, CUgraph graph, Interner& interner, Graphs& graphs) {
  GraphDescription description(*driver_);
  host_memory_.gone(exec);
  if (!sources_.on() || graph == nullptr || !description.read(graph, interner)) return;
  GraphHostMemory::Traits traits;
  std::array<HostSource, CopySources::kMostSampled> sources;
  std::size_t count = 0;
  for (std::size_t i = 0; i < description.size() && !traits.reaches_host; ++i) {
    const RelaxedCapture relaxed(*driver_);
    const std::uint32_t type = wire::load(description.record(i), wire::intern::kNodeType);
    CUgraphNode node = description.handle(i);
    CUDA_KERNEL_NODE_PARAMS kernel = {};
    CUDA_MEMCPY3D copy = {};
    CUDA_MEMSET_NODE_PARAMS fill = {};
    Call call;
    switch (type) {
      case CU_GRAPH_NODE_TYPE_KERNEL:
        traits.reaches_host = driver_->graph_kernel_node_get_params == nullptr ||
                              driver_->graph_kernel_node_get_params(node, &kernel) != CUDA_SUCCESS ||
                              may_reach_host(kernel);
        break;
      case CU_GRAPH_NODE_TYPE_MEMCPY: {
        traits.reaches_host = driver_->graph_memcpy_node_get_params == nullptr ||
                              driver_->graph_memcpy_node_get_params(node, &copy) != CUDA_SUCCESS;
        if (traits.reaches_host) break;
        read_copy(copy, call);
        traits.reaches_host = reaches_host(copy, call);
        const SourceRows rows = host_source(copy, call);
        if (rows.width != 0 && count < sources.size())
          sources[count++] = {node, static_cast<std::uint32_t>(i), type, rows, graphs.site_of(node)};
        break;
      }
      case CU_GRAPH_NODE_TYPE_MEMSET:
        traits.reaches_host = driver_->graph_memset_node_get_params == nullptr ||
                              driver_->graph_memset_node_get_params(node, &fill) != CUDA_SUCCESS ||
                              reachable_.end_around(fill.dst) != 0;
        break;
      case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        traits.tells = true;
        break;
      case CU_GRAPH_NODE_TYPE_GRAPH:
      case CU_GRAPH_NODE_TYPE_EMPTY:
      case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      case CU_GRAPH_NODE_TYPE_MEM_FREE:
        break;
      default:
        traits.reaches_host = true;
    }
  }
  host_memory_.made(exec, traits);
  for (std::size_t i = 0; i < count; ++i) host_memory_.add(exec, sources[i]);
}

void RaceRecords::sampled_node_set(const GraphCall& call, std::uint32_t site) {
  bool reaches = false;
  if (call.kernel != nullptr) {
    reaches = may_reach_host(*call.kernel);
  } else if (call.copy != nullptr) {
    Call copy;
    read_copy(*call.copy, copy);
    reaches = reaches_host(*call.copy, copy);
    host_memory_.set(call.exec, call.node, host_source(*call.copy, copy), site);
  } else if (call.memset != nullptr) {
    reaches = reachable_.end_around(call.memset->dst) != 0;
  } else {
    host_memory_.gone(call.exec);
  }
  if (reaches) host_memory_.reaches_host(call.exec);
}

// Returns whether the graph may reach host memory. If it does not, the sources of its copies may be watched.
bool RaceRecords::launch_sampled(ThreadState& thread, CUgraphExec exec) {
  GraphHostMemory::Launched launched;
  host_memory_.launched(exec, launched);
  if (!launched.known || launched.traits.reaches_host) return true;
  if (launched.traits.tells || thread.open.stream == Streams::kNone) return false;
  std::array<CopySources::Sampled, GraphHostMemory::kMostSources> sources;
  std::size_t count = 0;
  for (std::size_t i = 0; i < launched.count; ++i) {
    const SourceRows& rows = launched.rows[i];
    if (!sources_.pinned().contain(rows.address, rows.end())) continue;  // freed since
    sources[count++] = {rows, launched.sites[i], launched.nodes[i] + 1};
  }
  if (count > 0) watch_sampled(thread, sources.data(), count);
  return false;
}

namespace {

template <typename Parameters>
bool any_target(const PinnedRanges& reachable, const void* parameters) {
  const auto& p = *static_cast<const Parameters*>(parameters);
  for (std::size_t i = 0; p.dsts != nullptr && i < p.count; ++i) {
    if (reachable.end_around(p.dsts[i]) != 0) return true;
  }
  return false;
}

}  // namespace

// For a copy or memset. `to` gets the bytes, if they are known.
bool RaceRecords::writes_to_host(const Copy& copy, HostReach::Operation& to) const {
  const Call& call = copy.call;
  switch (copy.id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_ptsz:
      return any_target<cuMemcpyBatchAsync_params>(reachable_, copy.parameters);
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_v2_ptsz:
      return any_target<cuMemcpyBatchAsync_v2_params>(reachable_, copy.parameters);
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync_v2_ptsz:
      return true;
    default:
      break;
  }
  if (call.destination == 0 || reachable_.end_around(call.destination) == 0) return false;
  if (call.rows == 0) return true;
  to.begin = call.destination;
  to.end = to.begin + (call.rows == 1 ? call.argument : call.destination_pitch * (call.rows - 1) + call.width);
  return true;
}

void RaceRecords::before_sampled(ThreadState& thread, Kind kind, const Copy& copy) {
  if (!sources_.on()) return;
  HostReach::Operation operation{thread.open.stream, thread.open.ordinal};
  bool reaches = false;
  switch (kind) {
    case Kind::event_record:
    case Kind::event_wait:
    case Kind::allocation:
    case Kind::prefetch:
      return;
    case Kind::kernel:
      reaches = may_reach_host(copy.call);
      break;
    case Kind::graph:
      reaches = launch_sampled(thread, reinterpret_cast<CUgraphExec>(copy.call.argument));
      break;
    case Kind::copy:
    case Kind::memset:
      reaches = writes_to_host(copy, operation);
      break;
    default:
      reaches = true;
  }
  if (reaches) {
    // The end of an operation on an unknown stream is unknown.
    if (operation.stream == Streams::kNone || operation.ordinal == 0) return sources_.end();
    sources_.reach().add(sources_.progress(), operation);
  } else if (kind == Kind::copy) {
    before_copy(thread, copy);
  }
}

// Only one change is kept for each site, because the copies of a site are not watched any more once a change was found.
void RaceRecords::keep_change(const CopySources::Change& change) {
  const CopySources::Sampled& source = change.source;
  const auto number = [](auto value) { return static_cast<unsigned long long>(value); };
  char key[32], text[320];
  snprintf(key, sizeof key, "source_changed.%u", change.site);
  snprintf(text, sizeof text, "%u %u %u %u %llu %llu %llu %llu %llu %llu %u %u %u", source.site, source.node,
           change.site, unsigned{change.thread},
           number(reinterpret_cast<std::uint64_t>(streams_->handle(change.stream))), number(source.rows.address),
           number(source.rows.end()), number(change.begin), number(change.end), number(change.bytes),
           unsigned{change.sampled}, change.unchanged, change.changed);
  interner_->property(key, text);
}

}  // namespace cudadiag::record
