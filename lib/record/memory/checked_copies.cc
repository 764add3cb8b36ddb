// Compares the sources of copies in ordinary runs (--check-copies). This is RaceRecords (race_records.h) without
// records: it follows what can reach the sources of copies, and keeps the changes as properties of the process.
#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <array>

#include "record/memory/race_records.h"

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
  const auto are_idle = [](const void* all, std::uint32_t but) {
    return static_cast<const Streams*>(all)->others_are_idle(but);
  };
  sources_.sample({&streams, has_finished, are_idle}, every);
}

void RaceRecords::compare_no_more(const char* why) {
  if (!sources_.on()) return;
  char text[128];
  snprintf(text, sizeof text, "no copies were compared (--check-copies) after %s", why);
  interner_->note("copies-unchecked", text);
  sources_.end();
}

void RaceRecords::memory_made(std::uint32_t id, const void* parameters, const MemoryCall& call) {
  sources_.pinned().made(id, parameters, call.address, call.bytes);
  using wire::allocation::Kind;
  if (!samples() || (call.kind != Kind::pinned && call.kind != Kind::managed)) return;
  const auto reached_at = [&](std::uint64_t address) {
    if (address < kAround) return;
    words_.memory_made(address - kAround, call.bytes + 2 * kAround);
    if (!reachable_.join(address, address + call.bytes)) compare_no_more("too many allocations of host memory");
  };
  reached_at(call.address);
  const RelaxedCapture relaxed(*driver_);
  CUdeviceptr device = 0;
  if (call.kind == Kind::pinned &&
      driver_->mem_host_get_device_pointer(&device, reinterpret_cast<void*>(call.address), 0) == CUDA_SUCCESS &&
      device != call.address) {
    reached_at(device);
  }
}

// Returns false if the host may be able to read the target of a copy. An array has no address.
bool RaceRecords::is_on_device(std::uint64_t target) const {
  if (target == 0) return true;
  unsigned type = 0, managed = 0;
  const RelaxedCapture relaxed(*driver_);
  const auto get = driver_->pointer_get_attribute;
  return get != nullptr && get(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, target) == CUDA_SUCCESS &&
         type == CU_MEMORYTYPE_DEVICE && get(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, target) == CUDA_SUCCESS &&
         managed == 0;
}

bool RaceRecords::is_of_host(std::uint64_t address) const {
  return address >= kAround && reachable_.meet(address - kAround, address + kAround);
}

void RaceRecords::watch_sampled(ThreadState& thread, const CopySources::Sampled* sources, std::size_t count) {
  const OpenOperation& open = thread.open;
  // The entry of a stream with very many operations may soon be reused.
  if (open.ordinal == 0 || open.ordinal >= Streams::kOldOrdinal) return;
  thread.watched = sources_.watch_sampled({open.site, thread.index}, {open.stream, open.ordinal}, sources, count);
  if (thread.watched != 0) thread.open.mark = true;
}

bool RaceRecords::hold_host_address(const void* bytes, std::size_t size) const {
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= size; at += 4) {
    std::uint64_t value;
    memcpy(&value, static_cast<const std::byte*>(bytes) + at, sizeof value);
    if (words_.may_be(value) && is_of_host(value)) return true;
  }
  return false;
}

// Returns true if the kernel has an address of host memory among its parameters, or if they are not all known. A kernel
// may store the address, so no copies are compared any more.
bool RaceRecords::may_reach_host(const Call& call) {
  const bool given = call.parameters != nullptr || call.extra != nullptr;
  if (call.function == nullptr || (layouts_->of(call.function).count != 0) != given) return true;
  bool found = false;
  const auto look_into = [&](const void* bytes, std::size_t size, std::size_t) {
    found = found || hold_host_address(bytes, size);
  };
  words_.each(call.function, call.parameters, look_into);
  if (call.parameters == nullptr && given) {
    const ParameterBuffer buffer = parameter_buffer(call.extra);
    if (buffer.bytes == nullptr) return true;
    look_into(buffer.bytes, buffer.size, 0);
  }
  if (found) compare_no_more("a launch or a node of a kernel that has an address of host memory");
  return found;
}

// A kernel may read addresses from the copied memory.
bool RaceRecords::carries_host_address(const Call& copy) const {
  constexpr std::uint64_t kLargest = 64u << 10;
  const std::uint64_t width = copy.rows == 1 ? copy.argument : copy.width;
  const bool from_host = copy.from_host || is_of_host(copy.source);
  if (!from_host || copy.rows == 0 || width > kLargest / copy.rows) return false;
  for (std::uint64_t row = 0; row < copy.rows; ++row) {
    if (row_holds_host_address(copy.source + row * copy.source_pitch, width)) return true;
  }
  return false;
}

// The program may pass an address that cannot be read. The driver then refuses the copy.
bool RaceRecords::row_holds_host_address(std::uint64_t begin, std::uint64_t width) const {
  constexpr std::uint64_t kWord = sizeof(std::uint64_t), kStep = 4, kPage = 4096;
  const std::uint64_t first = (begin + kStep - 1) / kStep * kStep;
  for (std::uint64_t at = first; at + kWord <= begin + width; at += kStep) {
    const std::uint64_t last = at + kWord - 1;
    if (at == first && !is_readable(at)) return false;
    if ((at == first || last % kPage < kStep) && !is_readable(last)) return false;
    if (hold_host_address(reinterpret_cast<const void*>(at), kWord)) return true;
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

// The host may watch memory that a node of a graph fills, to find out how far the graph has come.
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
        traits.reaches_host = description.is_device_updatable(i) || driver_->graph_kernel_node_get_params == nullptr ||
                              driver_->graph_kernel_node_get_params(node, &kernel) != CUDA_SUCCESS ||
                              may_reach_host(kernel);
        break;
      case CU_GRAPH_NODE_TYPE_MEMCPY: {
        traits.reaches_host = driver_->graph_memcpy_node_get_params == nullptr ||
                              driver_->graph_memcpy_node_get_params(node, &copy) != CUDA_SUCCESS;
        if (traits.reaches_host) break;
        read_copy(copy, call);
        traits.reaches_host = !is_on_device(call.destination);
        const SourceRows rows = host_source(copy, call);
        if (rows.width != 0 && count < sources.size())
          sources[count++] = {node, static_cast<std::uint32_t>(i), type, rows, graphs.site_of(node)};
        break;
      }
      case CU_GRAPH_NODE_TYPE_MEMSET:
        traits.reaches_host = driver_->graph_memset_node_get_params == nullptr ||
                              driver_->graph_memset_node_get_params(node, &fill) != CUDA_SUCCESS ||
                              !is_on_device(fill.dst);
        break;
      case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        traits.uses_events = true;
        break;
      case CU_GRAPH_NODE_TYPE_GRAPH:
      case CU_GRAPH_NODE_TYPE_EMPTY:
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
    reaches = !is_on_device(copy.destination);
    host_memory_.set(call.exec, call.node, host_source(*call.copy, copy), site);
  } else if (call.memset != nullptr) {
    reaches = !is_on_device(call.memset->dst);
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
  if (launched.traits.uses_events || thread.open.stream == Streams::kNone) return false;
  std::array<CopySources::Sampled, GraphHostMemory::kMostSources> sources;
  std::size_t count = 0;
  for (std::size_t i = 0; i < launched.count; ++i) {
    const SourceRows& rows = launched.rows[i];
    if (!sources_.pinned().contain(rows.address, rows.end())) continue;  // freed since
    sources[count++] = {rows, launched.sites[i], launched.nodes[i] + 1};
  }
  if (count > 0 && sources_.is_due(thread.open.site)) watch_sampled(thread, sources.data(), count);
  return false;
}

namespace {

template <typename Parameters, typename Is>
bool any_target(const void* parameters, Is is) {
  const auto& p = *static_cast<const Parameters*>(parameters);
  return p.dsts != nullptr && std::any_of(p.dsts, p.dsts + p.count, is);
}

}  // namespace

bool RaceRecords::targets_are_on_device(const Copy& copy) const {
  const auto is_elsewhere = [this](std::uint64_t address) { return !is_on_device(address); };
  switch (copy.id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_ptsz:
      return !any_target<cuMemcpyBatchAsync_params>(copy.parameters, is_elsewhere);
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_v2_ptsz:
      return !any_target<cuMemcpyBatchAsync_v2_params>(copy.parameters, is_elsewhere);
    default:
      return is_on_device(copy.call.destination);
  }
}

// For a copy or memset. `to` gets the bytes, if they are known.
bool RaceRecords::writes_to_host(const Copy& copy, HostReach::Operation& to) const {
  const Call& call = copy.call;
  const auto is_on_host = [this](std::uint64_t address) { return is_of_host(address); };
  switch (copy.id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_ptsz:
      return any_target<cuMemcpyBatchAsync_params>(copy.parameters, is_on_host);
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_v2_ptsz:
      return any_target<cuMemcpyBatchAsync_v2_params>(copy.parameters, is_on_host);
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync_v2_ptsz:
      return true;
    default:
      break;
  }
  if (!is_of_host(call.destination)) return false;
  if (call.rows == 0) return true;
  to.begin = call.destination;
  to.end = to.begin + (call.rows == 1 ? call.argument : call.destination_pitch * (call.rows - 1) + call.width);
  return true;
}

void RaceRecords::before_sampled(ThreadState& thread, Kind kind, const Copy& copy) {
  if (!sources_.on()) return;
  HostReach::Operation operation{thread.open.stream, thread.open.ordinal};
  // The end of an operation on an unknown stream is unknown.
  if (operation.stream == Streams::kNone || operation.ordinal == 0)
    return compare_no_more("an operation on an unknown stream");
  if (interner_->knows_nccl()) return compare_no_more("a kernel of NCCL, which waits for other processes");
  sources_.others_issue(operation.stream);
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
      if (carries_host_address(copy.call)) return compare_no_more("a copy of an address of host memory to a GPU");
      [[fallthrough]];
    case Kind::memset:
      reaches = writes_to_host(copy, operation);
      break;
    default:
      reaches = true;
  }
  if (reaches) {
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
