#include "analyse/graphs/stale_pointers.h"

#include <fmt/core.h>

#include <algorithm>

namespace cudadiag::analyse {
namespace {

using session::Allocation;
using session::Operation;
using session::ProcessRecord;
using session::StalePointer;

const Allocation* freed_before(const ProcessRecord& record, const StalePointer& stale, const Operation& launch) {
  const auto freed = std::find_if(record.allocations.begin(), record.allocations.end(), [&](const Allocation& each) {
    return each.serial == stale.allocation && each.freed != 0 && each.freed <= launch.ticks &&
           stale.address - each.address < each.bytes;
  });
  return freed == record.allocations.end() ? nullptr : &*freed;
}

bool is_launch(const Operation& operation, const StalePointer& stale) {
  return operation.kind == wire::operation::Kind::graph && operation.thread == stale.thread &&
         operation.serial == stale.serial;
}

Candidate candidate_of(const ProcessRecord& record, const Operation& launch, const StalePointer& stale) {
  Candidate candidate;
  candidate.operation = &launch;
  candidate.because = "it points to memory that had been freed";
  const session::Graph* graph = session::by_id(record.graphs, launch.graph);
  if (graph == nullptr || stale.node >= graph->nodes.size()) return candidate;
  candidate.node = &graph->nodes[stale.node];
  candidate.node_index = stale.node + 1;
  candidate.nodes_of_graph = static_cast<std::uint32_t>(graph->nodes.size());
  candidate.changed = session::changed_at(record, launch, stale.node);
  return candidate;
}

// The allocation that was live at the address at that time.
const Allocation* alive_at(const ProcessRecord& record, std::uint64_t address, std::uint64_t ticks) {
  const auto found = std::find_if(record.allocations.begin(), record.allocations.end(), [&](const Allocation& each) {
    return each.made <= ticks && (each.freed == 0 || each.freed > ticks) && address - each.address < each.bytes;
  });
  return found == record.allocations.end() ? nullptr : &*found;
}

// All that the pointer led to was memory of somebody's when the graph was launched: using it raises no error.
bool is_covered(const ProcessRecord& record, const StalePointer& stale, const Allocation& freed,
                const Operation& launch) {
  const Allocation* now = alive_at(record, stale.address, launch.ticks);
  return now != nullptr && freed.address + freed.bytes - now->address <= now->bytes;
}

std::string sentence(const ProcessRecord& record, const StalePointer& stale, const Operation& launch,
                     const Allocation& freed) {
  const double milliseconds = (record.seconds(launch.ticks) - record.seconds(freed.freed)) * 1e3;
  return fmt::format("node {} of its graph points to memory that was freed {:.1f} ms before this launch{}",
                     stale.node + 1, milliseconds,
                     alive_at(record, stale.address, launch.ticks) != nullptr ? ", and handed out again since" : "");
}

// If the nodes of the launch are not known, this node is the only candidate.
void put_first(Candidate node, std::vector<Candidate>& candidates) {
  std::erase_if(candidates, [&](const Candidate& other) { return other.node == nullptr || other.node == node.node; });
  candidates.insert(candidates.begin(), std::move(node));
}

}  // namespace

std::optional<Failure> stale_replay(const session::Process& process) {
  const ProcessRecord& record = process.record;
  if (record.frozen_code != 0) return std::nullopt;
  for (const StalePointer& stale : record.stale_pointers) {
    const auto launch = std::find_if(record.operations.begin(), record.operations.end(),
                                     [&](const Operation& operation) { return is_launch(operation, stale); });
    if (launch == record.operations.end() || launch->result != 0) continue;
    const Allocation* freed = freed_before(record, stale, *launch);
    if (freed == nullptr) continue;
    Failure failure;
    failure.kind = Kind::graph_stale_pointer;
    failure.process = &process;
    failure.candidates = {candidate_of(record, *launch, stale)};
    failure.stale = &stale;
    failure.because = sentence(record, stale, *launch, *freed);
    failure.because.add("no call has failed, and whether the node uses it was not seen");
    return failure;
  }
  return std::nullopt;
}

void blame_stale_pointer(Failure& failure) {
  if (failure.code != 700 || failure.stale != nullptr || failure.candidates.empty()) return;
  const Operation* launch = failure.candidates.front().operation;
  const bool one = std::all_of(failure.candidates.begin(), failure.candidates.end(),
                               [&](const Candidate& candidate) { return candidate.operation == launch; });
  const ProcessRecord& record = failure.process->record;
  // The recorder notes it at the first launch after the memory was freed; a later launch may have failed.
  for (const StalePointer& stale : record.stale_pointers) {
    const auto first = std::find_if(record.operations.begin(), record.operations.end(),
                                    [&](const Operation& operation) { return is_launch(operation, stale); });
    if (!one || first == record.operations.end() || first->argument != launch->argument ||
        first->graph != launch->graph || first->ticks > launch->ticks) {
      continue;
    }
    const bool later = &*first != launch;
    if (later && (launch->graph_flags & wire::operation::kGraphRepointed) != 0) continue;
    const Allocation* freed = freed_before(record, stale, *launch);
    if (freed != nullptr && is_covered(record, stale, *freed, *launch)) continue;
    Candidate node = candidate_of(record, *launch, stale);
    // A node that was seen not to end is a better answer than one that points amiss.
    const bool other = failure.kind == Kind::graph_node && failure.candidates.front().node != node.node;
    if (freed == nullptr || other) continue;
    if (later && first->stream == launch->stream) {
      failure.because.add(sentence(record, stale, *launch, *freed) + ", as at an earlier launch, which did finish");
      return;
    }
    if (failure.kind != Kind::graph_node && failure.grade < Grade::inferred) failure.grade = Grade::inferred;
    failure.kind = Kind::graph_stale_pointer;
    put_first(std::move(node), failure.candidates);
    failure.stale = &stale;
    failure.because.add(sentence(record, stale, *launch, *freed));
    return;
  }
}

}  // namespace cudadiag::analyse
