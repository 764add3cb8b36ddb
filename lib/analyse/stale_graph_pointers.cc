// Finds launches of graphs that point to freed memory. The recorder checks for such pointers at each launch.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "analyse/graph_nodes.h"
#include "session/process_record.h"
#include "wire/cuda_codes.h"

namespace cudadiag::analyse {
namespace {

using session::Allocation;
using session::Operation;
using session::ProcessRecord;
using session::StalePointer;

const Allocation* freed_before(const ProcessRecord& record, const StalePointer& stale, const Operation& launch) {
  const auto freed = std::ranges::find_if(record.allocations, [&](const Allocation& each) {
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

// Returns the allocation that contained the address at `ticks`; null if there was none.
const Allocation* alive_at(const ProcessRecord& record, std::uint64_t address, std::uint64_t ticks) {
  const auto found = std::ranges::find_if(record.allocations, [&](const Allocation& each) {
    return each.made <= ticks && (each.freed == 0 || each.freed > ticks) && address - each.address < each.bytes;
  });
  return found == record.allocations.end() ? nullptr : &*found;
}

// Returns whether live allocations cover all memory that the pointer refers to. If so, using the pointer raises no
// error.
bool is_covered(const ProcessRecord& record, const StalePointer& stale, const Allocation& freed,
                const Operation& launch) {
  const Allocation* now = alive_at(record, stale.address, launch.ticks);
  return now != nullptr && freed.address + freed.bytes - now->address <= now->bytes;
}

std::string sentence(const ProcessRecord& record, const StalePointer& stale, const Operation& launch,
                     const Allocation& freed) {
  const double milliseconds = (record.seconds(launch.ticks) - record.seconds(freed.freed)) * 1e3;
  return fmt::format(
      "node {} of its graph points to memory that was freed {:.1f} ms before this launch{}", stale.node + 1,
      milliseconds,
      alive_at(record, stale.address, launch.ticks) != nullptr ? ", and has been allocated again since" : "");
}

// Makes `node` the first candidate. Other nodes of its launch remain candidates only if all candidates belong to that
// launch (`of_one_launch`).
void put_first(Candidate node, std::vector<Candidate>& candidates, bool of_one_launch) {
  node.process_ordinal = candidates.front().process_ordinal;
  std::erase_if(candidates, [&](const Candidate& other) {
    return other.operation == node.operation && (!of_one_launch || other.node == nullptr || other.node == node.node);
  });
  candidates.insert(candidates.begin(), std::move(node));
}

// Returns the freed memory that the launch may have accessed; null if there is none.
const Allocation* missed_by(const ProcessRecord& record, const StalePointer& stale, const Operation& launch) {
  const bool may_be_leftover =
      stale.in_structure && (launch.replay < 2 || (launch.graph_flags & wire::operation::kGraphRepointed) != 0);
  const Allocation* freed = may_be_leftover ? nullptr : freed_before(record, stale, launch);
  return freed == nullptr || is_covered(record, stale, *freed, launch) ? nullptr : freed;
}

void blame(Failure& failure, const StalePointer& stale) {
  const ProcessRecord& record = failure.process->record;
  const Operation& launch = *failure.candidates.front().operation;
  Candidate node = candidate_of(record, launch, stale);
  // An unfinished node is better evidence than a stale pointer.
  const bool one = failure.has_one_operation();
  const bool seen = failure.kind == Kind::graph_node && one;
  if (seen && failure.candidates.front().node != node.node) return;
  failure.kind = Kind::graph_stale_pointer;
  put_first(std::move(node), failure.candidates, one);
  failure.stale = &stale;
  failure.evidence.add(seen ? Fact::context : Fact::weaker,
                       sentence(record, stale, launch, *freed_before(record, stale, launch)));
}

// The recorder notes a stale pointer only at the first launch after the memory was freed. If a later launch failed,
// finds that note.
void blame_earlier_pointer(Failure& failure) {
  const ProcessRecord& record = failure.process->record;
  const Operation& launch = *failure.candidates.front().operation;
  if ((launch.graph_flags & wire::operation::kGraphRepointed) != 0) return;
  for (const StalePointer& stale : record.stale_pointers) {
    const auto first = std::ranges::find_if(record.operations,
                                            [&](const Operation& operation) { return is_launch(operation, stale); });
    const Allocation* freed = stale.in_structure ? nullptr : missed_by(record, stale, launch);
    if (freed == nullptr || first == record.operations.end() || first->argument != launch.argument ||
        first->graph != launch.graph || first->ticks >= launch.ticks) {
      continue;
    }
    if (first->stream != launch.stream) return blame(failure, stale);
    const bool other = failure.kind == Kind::graph_node && failure.candidates.front().node_index != stale.node + 1;
    if (other) continue;
    failure.evidence.add(sentence(record, stale, launch, *freed) +
                         "; an earlier launch with the same pointer finished");
    return;
  }
}

}  // namespace

std::optional<Failure> stale_replay(const session::Process& process) {
  const ProcessRecord& record = process.record;
  if (record.frozen_code != 0) return std::nullopt;
  for (const StalePointer& stale : record.stale_pointers) {
    if (stale.in_structure) continue;
    const auto launch = std::ranges::find_if(record.operations,
                                             [&](const Operation& operation) { return is_launch(operation, stale); });
    if (launch == record.operations.end() || launch->result != 0) continue;
    const Allocation* freed = freed_before(record, stale, *launch);
    if (freed == nullptr) continue;
    Failure failure;
    failure.kind = Kind::graph_stale_pointer;
    failure.process = &process;
    failure.candidates = {candidate_of(record, *launch, stale)};
    failure.stale = &stale;
    failure.evidence = {Fact::rule, sentence(record, stale, *launch, *freed)};
    failure.evidence.add("no call has failed, and it is unknown whether the node uses that memory");
    return failure;
  }
  return std::nullopt;
}

const StalePointer* stale_pointer_of(const ProcessRecord& record, const Operation& launch) {
  const StalePointer* best = nullptr;
  for (const StalePointer& stale : record.stale_pointers) {
    if (!is_launch(launch, stale) || missed_by(record, stale, launch) == nullptr) continue;
    const auto rank = [](const StalePointer& of) { return std::pair(of.in_structure, of.node); };
    if (best == nullptr || rank(stale) < rank(*best)) best = &stale;
  }
  return best;
}

bool may_be_illegal_address(std::uint32_t code, const ProcessRecord& record) {
  return code == wire::cuda::kIllegalAddress ||
         (code == wire::cuda::kLaunchFailure &&
          (session::awaited_core_dump(record) || session::left_core_dump(record)));
}

void blame_stale_pointer(Failure& failure) {
  if (!may_be_illegal_address(failure.code, failure.process->record) || failure.stale != nullptr ||
      failure.candidates.empty())
    return;
  const bool one = failure.has_one_operation();
  // A line that a rerun has proven is better evidence than a stale pointer.
  if (!one && failure.again != nullptr) return;
  const StalePointer* stale = stale_pointer_of(failure.process->record, *failure.candidates.front().operation);
  if (stale != nullptr) {
    blame(failure, *stale);
  } else if (one) {
    blame_earlier_pointer(failure);
  }
}

Candidate node_of(const Failure& failure, const StalePointer& stale) {
  Candidate node = candidate_of(failure.process->record, *failure.candidates.front().operation, stale);
  node.process_ordinal = failure.candidates.front().process_ordinal;
  return node;
}

void blame_node(Failure& failure, const StalePointer& stale) {
  const ProcessRecord& record = failure.process->record;
  const Operation& launch = *failure.candidates.front().operation;
  failure.candidates = {node_of(failure, stale)};
  failure.kind = Kind::graph_stale_pointer;
  const bool is_told = failure.stale == &stale;
  failure.stale = &stale;
  failure.call_not_known = false;  // earlier launches had finished before the memory was freed
  if (!is_told) failure.evidence.add(sentence(record, stale, launch, *freed_before(record, stale, launch)));
}

void forget_stale_pointer(Failure& failure) {
  if (failure.stale == nullptr) return;
  failure.stale = nullptr;
  failure.kind = Kind::async_error;
  Candidate launch;
  launch.operation = failure.candidates.front().operation;
  launch.because = std::move(failure.candidates.front().because);
  launch.process_ordinal = failure.candidates.front().process_ordinal;
  failure.candidates.front() = std::move(launch);
}

}  // namespace cudadiag::analyse
