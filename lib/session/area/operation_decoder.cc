#include "session/area/operation_decoder.h"

namespace cudadiag::session {
namespace {

namespace o = wire::operation;
using o::Kind;

void decode_argument(const std::byte* record, Operation& operation) {
  if (operation.kind == Kind::kernel) {
    operation.grid = {wire::load(record, o::kGridX), wire::load(record, o::kGridY), wire::load(record, o::kGridZ)};
    const auto block = wire::load(record, o::kBlock);
    operation.block = {o::Block::x(block), o::Block::y(block), o::Block::z(block)};
    const auto cluster = wire::load(record, o::kCluster);
    operation.cluster = {o::Cluster::x(cluster), o::Cluster::y(cluster), o::Cluster::z(cluster)};
    operation.shared_bytes = wire::load(record, o::kSharedBytes);
  } else if (o::has_bytes(operation.kind)) {
    operation.argument = o::bytes_of(record);
    operation.destination = wire::load(record, o::kDestination);
    operation.source = wire::load(record, o::kSource);
  } else {
    operation.argument = wire::load(record, o::kArgument);
  }
  if (operation.kind == Kind::event_sync) operation.began = wire::load(record, o::kBegan);
  if (o::has_returned_at(operation.kind)) operation.returned_at = wire::load(record, o::kReturnedAt);
  if (operation.kind == Kind::memory_operation) {
    operation.value = wire::load(record, o::kValue);
    const std::uint8_t what = wire::load(record, o::kMemoryOperation);
    if (what <= static_cast<std::uint8_t>(o::MemoryOperation::signal_semaphore)) {
      operation.memory_operation = static_cast<o::MemoryOperation>(what);
    }
  }
}

void decode_graph(const std::byte* record, const ProcessRecord& process, Operation& operation) {
  operation.graph = wire::load(record, o::kGraph);
  if (operation.graph > process.graphs.size()) operation.graph = 0;
  operation.replay = wire::load(record, o::kReplay);
  operation.graph_flags = wire::load(record, o::kGraphFlags);
  operation.graph_words = wire::load(record, o::kGraphWords);
  const Graph* graph = by_id(process.graphs, operation.graph);
  if (graph == nullptr || graph->changed_from == 0) return;
  if (!graph->whole) operation.graph_flags |= o::kGraphUntold;
  operation.graph_changed = operation.graph;
  operation.graph = graph->changed_from;
}

}  // namespace

std::optional<Operation> decode_operation(const std::byte* record, std::uint64_t serial, const ProcessRecord& process) {
  Operation operation;
  operation.kind = kind_of(record);
  operation.thread = wire::load(record, o::kThread);
  operation.stream = wire::load(record, o::kStream);
  if (operation.stream == static_cast<std::uint16_t>(o::kNoStream)) operation.stream = o::kNoStream;
  const bool stream_fits = operation.stream == o::kNoStream || operation.stream < process.streams.size();
  const bool is_known = operation.kind != Kind::none && operation.kind <= Kind::event_forgotten;
  if (!is_known || o::is_race_record(operation.kind) || operation.thread >= process.threads.size() || !stream_fits) {
    return std::nullopt;
  }
  operation.serial = serial;
  operation.flags = wire::load(record, o::kFlags);
  operation.site = wire::load(record, o::kSite);
  // A live process may have interned the site after the heap was read. For now, the operation then has no site.
  if (operation.site > process.sites.size()) operation.site = 0;
  operation.ordinal = wire::load(record, o::kOrdinal);
  operation.result = wire::load(record, o::kResult);
  operation.site_ordinal = wire::load(record, o::kSiteOrdinal);
  operation.ticks = wire::load(record, o::kTicks);
  // If an operation is older than its stream's entry, it belongs to an earlier stream that used the same entry.
  if (operation.stream != o::kNoStream && operation.ticks < process.streams[operation.stream].created) {
    operation.stream = o::kNoStream;
    operation.ordinal = 0;
  }
  decode_argument(record, operation);
  if (operation.kind == Kind::graph) decode_graph(record, process, operation);
  operation.origin = {wire::load(record, o::kNumber),     wire::load(record, o::kOwnThread),
                      wire::load(record, o::kNodeThread), wire::load(record, o::kNode),
                      wire::load(record, o::kGraphTask),  wire::load(record, o::kNodeType)};
  if (operation.origin.node_type > process.node_types.size()) operation.origin.node_type = 0;
  return operation;
}

}  // namespace cudadiag::session
