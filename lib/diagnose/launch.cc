// Describes the failed operation for a finding: kernel, shape, stream, device and ordinals.
#include <algorithm>
#include <set>
#include <string_view>

#include "diagnose/lines.h"
#include "diagnose/passes.h"
#include "session/process_record.h"
#include "wire/operation.h"

namespace cudadiag::diagnose {
namespace {

using session::Work;

using session::Process;

// Returns null if `index` is past the end. An index that means "none" is larger than any table.
template <typename T>
const T* at(const std::vector<T>& table, std::uint32_t index) {
  return index < table.size() ? &table[index] : nullptr;
}

void add_place(Launch& launch, const Process& process, std::uint32_t stream, std::uint32_t context) {
  if (const session::Stream* entry = at(process.record.streams, stream)) {
    launch.stream = entry->handle;
    context = entry->context;
  }
  if (const session::Context* entry = at(process.record.contexts, context)) launch.device = entry->device;
}

bool is_watched_by_hooks(const Process& process) {
  return session::value_of(process.record, session::Property::watched_by) == "hooks";
}

// Returns nullopt if records are lost, because any lost record may be that of a kernel. Also returns nullopt after the
// launch of a graph, because graphs launch kernels too.
std::optional<std::uint64_t> kernel_ordinal(const session::ProcessRecord& record, const session::Operation& operation) {
  using wire::operation::Kind;
  if (operation.kernels != 0) return operation.kernels;
  if (operation.kind != Kind::kernel || record.operations.size() != record.operations_issued) return std::nullopt;
  std::uint64_t ordinal = 0;
  for (const session::Operation& other : record.operations) {
    if (other.kind == Kind::graph) return std::nullopt;
    if (other.kind == Kind::kernel) ++ordinal;
    if (&other == &operation) return ordinal;
  }
  return std::nullopt;
}

// Maps a CUgraphNodeType to a kind of work.
Work work_of_node(const session::GraphNode& node) {
  switch (node.type) {
    case 0:
      return Work::kernel;
    case 1:
      return Work::copy;
    case 2:
      return Work::memset;
    case wire::graph_node::kConditional:  // a conditional node runs one of its body graphs
      return Work::graph;
    default:
      return Work::call;
  }
}

}  // namespace

Launch launch_of(const Process& process, const analyse::Candidate& candidate, const std::string& mangled) {
  const session::Operation& operation = *candidate.operation;
  Launch launch;
  launch.by_hooks = is_watched_by_hooks(process);
  launch.operation = work_of(operation.kind);
  name_kernel(launch, mangled);
  launch.grid = operation.grid;
  launch.block = operation.block;
  launch.shared_bytes = operation.shared_bytes;
  launch.process_ordinal = candidate.process_ordinal;
  if (operation.ordinal != 0) launch.stream_ordinal = operation.ordinal;
  if (operation.site_ordinal != 0) launch.site_ordinal = operation.site_ordinal;
  if (const session::Thread* thread = at(process.record.threads, operation.thread)) launch.thread = thread->tid;
  if (operation.replay != 0) launch.replay = operation.replay;
  launch.kernel_ordinal = kernel_ordinal(process.record, operation);
  add_place(launch, process, operation.stream, 0xffffffff);
  return launch;
}

Launch node_launch_of(const Process& process, const analyse::Candidate& candidate, const std::string& mangled) {
  const session::GraphNode& node = *candidate.node;
  Launch launch = launch_of(process, candidate, mangled);
  launch.graph_node = NodeNumber{candidate.node_index, candidate.nodes_of_graph, candidate.nodes};
  launch.site_ordinal.reset();
  if (!candidate.alike) return launch;
  launch.operation = work_of_node(node);
  // If the record shows which nodes were changed, all other nodes are as they were created.
  const std::uint32_t flags = candidate.operation->graph_flags;
  const bool told = (flags & wire::operation::kGraphUntold) == 0;
  const bool as_made = (flags & wire::operation::kGraphAltered) == 0 || (told && candidate.changed == 0);
  if (as_made && candidate.same_shape) {
    launch.grid = node.grid;
    launch.block = node.block;
    launch.shared_bytes = node.shared_bytes;
  }
  return launch;
}

Launch launch_of(const Process& process, const session::FailedCall& error, const std::string& mangled) {
  Launch launch;
  launch.by_hooks = is_watched_by_hooks(process);
  launch.operation = (error.flags & wire::error::kLaunch) != 0 ? Work::kernel : Work::call;
  name_kernel(launch, mangled);
  launch.grid = error.grid;
  launch.block = error.block;
  launch.shared_bytes = error.shared_bytes;
  launch.thread = error.tid;
  add_place(launch, process, error.stream, error.context);
  return launch;
}

std::size_t calls_of_line(const Finding& finding) {
  std::size_t calls = 0;
  for (const CandidateLine& candidate : finding.candidates) {
    const Location& line = finding.candidates.front().location;
    if (&candidate.location == &line || same_line(candidate.location, line)) calls += candidate.launches;
  }
  return calls;
}

PossibleKernels possible_kernels(const Finding& finding) {
  std::set<std::string_view> kernels;
  for (const CandidateLine& candidate : finding.candidates) {
    if (!candidate.launch.mangled.empty()) kernels.insert(candidate.launch.mangled);
  }
  const bool graphs = std::ranges::any_of(
      finding.candidates, [](const CandidateLine& candidate) { return candidate.launch.operation == Work::graph; });
  return {kernels.size(), graphs || finding.unlisted > 0};
}

}  // namespace cudadiag::diagnose
