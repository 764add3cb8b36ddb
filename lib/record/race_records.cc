#include "record/race_records.h"

#include <string.h>

#include "record/clock.h"
#include "wire/race_record.h"

namespace cudadiag::record {

namespace operation = wire::operation;
namespace race = wire::race;
using operation::Kind;

void RaceRecords::attach(const DriverApi& driver, Streams& streams) {
  driver_ = &driver;
  streams_ = &streams;
  streams.ask_for_flags();
  words_.attach(driver);
}

std::byte* RaceRecords::begin_at_call(ThreadState& thread, Kind kind) {
  std::byte* record = begin(thread, kind, operation::kNoStream);
  // That of the operation it belongs to, or of all parts of a graph: by time they stay together.
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
  tell_words(thread, found, function);
}

void RaceRecords::tell_words(ThreadState& thread, const ParameterWords::Found& found, std::uint32_t function) {
  for (std::size_t i = 0; i < found.count; i += race::kWords) {
    std::byte* record = begin_at_call(thread, Kind::parameters);
    wire::store(record, operation::kSite, static_cast<std::uint16_t>(function));
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

void RaceRecords::host_saw_stream(ThreadState& thread, std::uint32_t stream) {
  publish(thread, begin(thread, Kind::host_saw_stream, stream));
}

void RaceRecords::host_saw_context(ThreadState& thread, std::uint32_t context) {
  std::byte* record = begin(thread, Kind::host_saw_context, operation::kNoStream);
  wire::store(record, race::kWord0, context);
  publish(thread, record);
}

// ---- graphs

void RaceRecords::graph_made(ThreadState& thread, CUgraphExec exec, std::uint64_t nodes) {
  std::byte* record = begin_at_call(thread, Kind::graph_made);
  wire::store(record, race::kWord0, reinterpret_cast<std::uint64_t>(exec));
  wire::store(record, race::kWord1, nodes);
  publish(thread, record);
}

void RaceRecords::graph(ThreadState& thread, CUgraphExec exec, CUgraph graph, Interner& interner, Graphs& graphs) {
  GraphDescription description(*driver_);
  // More would push each other out of the ring.
  constexpr std::size_t kMostNodes = 1200;
  if (graph == nullptr || !description.read(graph, interner) || description.size() > kMostNodes) {
    return graph_made(thread, exec, 0);
  }
  graph_made(thread, exec, description.size());
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
  Call call;
  {
    const RelaxedCapture relaxed(*driver_);
    CUDA_KERNEL_NODE_PARAMS kernel = {};
    CUDA_MEMCPY3D copy = {};
    CUDA_MEMSET_NODE_PARAMS fill = {};
    CUgraphNode handle = description.handle(node);
    if (type == CU_GRAPH_NODE_TYPE_KERNEL && driver_->graph_kernel_node_get_params != nullptr &&
        driver_->graph_kernel_node_get_params(handle, &kernel) == CUDA_SUCCESS) {
      ParameterWords::Found found;
      const auto function = kernel.func != nullptr ? kernel.func : reinterpret_cast<CUfunction>(kernel.kern);
      words_.find(function, kernel.kernelParams, kernel.extra, found);
      tell_words(thread, found, wire::load(known, intern::kNodeFunction));
    } else if (type == CU_GRAPH_NODE_TYPE_MEMCPY && driver_->graph_memcpy_node_get_params != nullptr &&
               driver_->graph_memcpy_node_get_params(handle, &copy) == CUDA_SUCCESS) {
      read_copy(copy, call);
    } else if (type == CU_GRAPH_NODE_TYPE_MEMSET && driver_->graph_memset_node_get_params != nullptr &&
               driver_->graph_memset_node_get_params(handle, &fill) == CUDA_SUCCESS) {
      call.destination = fill.dst;
      call.width = fill.width * fill.elementSize;
      call.rows = static_cast<std::uint32_t>(fill.height);
      call.destination_pitch = fill.pitch;
      call.argument = call.width * fill.height;
    }
  }
  if (call.rows != 1) before_rows(thread, call);
  std::byte* record = begin_at_call(thread, Kind::graph_node);
  const bool in_child = wire::load(known, intern::kNodeParent) != 0;
  wire::store(record, operation::kSite, static_cast<std::uint16_t>(site <= 0xffff ? site : 0));
  wire::store(record, race::kNode, static_cast<std::uint32_t>(node));
  wire::store(record, race::kNodeType, type | (in_child ? race::kInChild : 0));
  wire::store(record, race::kWord0, reinterpret_cast<std::uint64_t>(exec));
  wire::store(record, race::kWord1, call.destination);
  wire::store(record, race::kWord2, call.source);
  wire::store(record, race::kWord3, call.argument);
  publish(thread, record);
}

void RaceRecords::stream_made(ThreadState& thread, CUstream stream, const CUpti_CallbackData& data) {
  streams_->find(thread, {stream, false}, data.contextUid);
}

void RaceRecords::returned(ThreadState& thread, std::uint32_t id, const CUpti_CallbackData& data) {
  CUevent event = nullptr;
  CUstream waiter = nullptr;
  bool strange = false, per_thread = false;
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuEventCreate: {
      const auto& p = *static_cast<const cuEventCreate_params*>(data.functionParams);
      if (p.phEvent != nullptr) event = *p.phEvent;
      break;
    }
    case CUPTI_DRIVER_TRACE_CBID_cuEventDestroy_v2:
      event = static_cast<const cuEventDestroy_v2_params*>(data.functionParams)->hEvent;
      break;
    // Known before the program captures it: a stream that is being captured cannot be asked how it was made, as the
    // question breaks the capture.
    case CUPTI_DRIVER_TRACE_CBID_cuStreamCreate:
      stream_made(thread, *static_cast<const cuStreamCreate_params*>(data.functionParams)->phStream, data);
      return;
    case CUPTI_DRIVER_TRACE_CBID_cuStreamCreateWithPriority:
      stream_made(thread, *static_cast<const cuStreamCreateWithPriority_params*>(data.functionParams)->phStream, data);
      return;
    case CUPTI_DRIVER_TRACE_CBID_cuGreenCtxStreamCreate:
      stream_made(thread, *static_cast<const cuGreenCtxStreamCreate_params*>(data.functionParams)->phStream, data);
      return;
    case CUPTI_DRIVER_TRACE_CBID_cuWaitExternalSemaphoresAsync_ptsz:
      per_thread = true;
      [[fallthrough]];
    case CUPTI_DRIVER_TRACE_CBID_cuWaitExternalSemaphoresAsync:
      waiter = static_cast<const cuWaitExternalSemaphoresAsync_params*>(data.functionParams)->stream;
      strange = true;
      break;
    default:
      return;
  }
  if (strange) {
    const std::uint32_t stream = streams_->find(thread, {waiter, per_thread}, data.contextUid);
    publish(thread, begin(thread, Kind::stranger_wait, stream));
  } else if (event != nullptr) {
    std::byte* record = begin(thread, Kind::event_made, operation::kNoStream);
    wire::store(record, race::kWord0, reinterpret_cast<std::uint64_t>(event));
    publish(thread, record);
  }
}

void RaceRecords::memory(ThreadState& thread, std::uint32_t id, const MemoryCall& call, std::uint32_t stream,
                         std::uint32_t context, std::uint32_t site) {
  if (call.address == 0) return;
  const bool made = call.what == MemoryCall::What::makes;
  if (made) words_.memory_made(call.address, call.bytes);
  std::byte* record = begin(thread, made ? Kind::memory_made : Kind::memory_freed, stream);
  wire::store(record, operation::kSite, static_cast<std::uint16_t>(site <= 0xffff ? site : 0));
  wire::store(record, race::kWord0, call.address);
  wire::store(record, race::kWord1, made ? call.bytes : context);
  // These return when all that might still use the memory has finished.
  const bool waits = id == CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2 || id == CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost ||
                     id == CUPTI_DRIVER_TRACE_CBID_cuMemHostUnregister;
  wire::store(record, race::kWord2, made ? static_cast<std::uint64_t>(call.kind) : waits ? 1u : 0u);
  publish(thread, record);
}

bool waits_for_copy(std::uint32_t id) {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2_ptds:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy_ptds:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy2D_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy2D_v2_ptds:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy2DUnaligned_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy2DUnaligned_v2_ptds:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy3D_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy3D_v2_ptds:
      return true;
    default:
      return false;
  }
}

}  // namespace cudadiag::record
