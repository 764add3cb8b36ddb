// One failure of a recorded process, before symbols and source lines are looked up. Pointers refer to the analysed
// Session.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analyse/grade.h"
#include "analyse/unfinished_work.h"
#include "session/session.h"

namespace cudadiag::analyse {

enum class Kind {
  async_error,
  graph_node,
  graph_stale_pointer,
  sync_error,
  unchecked_error,
  capture_violation,
  out_of_memory,
  stream_race,
  kernel_race,
  hang,
  non_finite,
  out_of_bounds
};

// Returns whether GPU work failed. If so, the call that returned the error did not cause it.
constexpr bool is_asynchronous(Kind kind) {
  return kind == Kind::async_error || kind == Kind::graph_node || kind == Kind::graph_stale_pointer;
}

struct Candidate {
  const session::Operation* operation = nullptr;
  std::string because;  // the reason for its place in the list: "follows the last finished operation of its stream"
  // The operation's position among all stream operations of the process, from 1; nullopt if the rings lost too many
  // records.
  std::optional<std::uint64_t> process_ordinal;
  // The node of the launched graph that may have failed; null if unknown. If several nodes from one source line may
  // have failed, `nodes` is their number and `node` is the first of them. `node_index` is the number of `node` in the
  // graph, counted from 1.
  const session::GraphNode* node = nullptr;
  std::uint32_t node_index = 0, nodes_of_graph = 0, nodes = 1;
  std::uint32_t changed = 0;  // call site that last changed the node's parameters; 0 if unchanged since its creation
  bool made_apart = false;    // the nodes were created at several call sites, but last changed at the same one
  bool alike = true;          // the nodes have the same type and kernel
  bool same_shape = true;     // the nodes have the same grid and block

  // The call site that set the parameters of the node or operation.
  std::uint32_t site() const { return changed != 0 ? changed : node != nullptr ? node->site : operation->site; }
};

// A hang: its duration, and what waits for what.
struct Standstill {
  double seconds = 0;
  const session::Thread* thread = nullptr;     // null if no thread waits inside a call
  std::uint32_t site = 0;                      // the call site at which `thread` waits
  const session::Operation* issues = nullptr;  // the operation that the call issues, if any
  std::optional<StreamWait> wait{};            // what the first candidate waits for, if anything
  const session::Stall* stall = nullptr;       // set if the hang was detected while the program ran; it may be over
};

inline constexpr std::size_t kMaxCandidates = 64;

struct Failure {
  Kind kind = Kind::async_error;
  std::uint32_t code = 0;  // CUresult, or cudaError_t for a runtime-only error; 0 if no call failed
  const session::Process* process = nullptr;
  const session::FailedCall* reported = nullptr;  // the call that returned the error; null if its record was lost
  const session::FailedCall* noticed = nullptr;   // a later call that failed for the same reason; null if there is none
  // An earlier failed call of the same thread that may have caused this failure; null if there is none. For an
  // asynchronous failure, this is a failed allocation that may have left a null pointer.
  const session::FailedCall* swallowed = nullptr;
  // For asynchronous failures: the candidates, most likely first. A bracketed or proven failure has only one. If a
  // rerun proved only the line, the candidates are the calls on that line. Synchronous failures have no candidates,
  // because `reported` is the failed call. For Kind::graph_node, the node of the first candidate failed. For
  // Kind::async_error with nodes, the failed graph launch is known, and the candidates are its nodes.
  std::vector<Candidate> candidates;
  std::size_t unlisted = 0;   // how many candidates did not fit into `candidates`
  bool records_lost = false;  // records of other operations that may have failed are lost, so `candidates` lacks these
  bool damaged = false;       // the recording is damaged, and lacks the operation or its call site
  bool dumped = false;        // the first run's own GPU core dump shows the exception
  Evidence evidence;
  const session::StalePointer* stale = nullptr;  // Kind::graph_stale_pointer
  std::optional<Standstill> hang;                // Kind::hang
  // A rerun proved which code failed, but the failed call of this run is not among `candidates`.
  bool call_not_known = false;
  // The failed operation of the rerun that confirmed this failure, and the process that issued it; null if no rerun
  // confirmed the failure.
  const session::Operation* again = nullptr;
  const session::Process* again_process = nullptr;
  // In a rerun: why the failure is not proven, although the rerun waited for the operation while no other recorded
  // operation was in flight. Empty if the failure is proven, or if other operations were in flight.
  std::string unproven;
  // The recorded path of the failing code's source file, if the user edited that code before a rerun. The rerun then
  // proves nothing.
  std::string rewritten;

  // Returns whether no operation that may have failed is missing from `candidates`.
  bool lists_all() const { return unlisted == 0 && !records_lost; }

  // Returns whether all candidates are the same operation, or nodes of one launch.
  bool has_one_operation() const {
    return std::ranges::all_of(candidates,
                               [&](const Candidate& each) { return each.operation == candidates.front().operation; });
  }
};

// A function that returns whether two call sites of a process are on the same line, as in an unrolled loop. The caller
// supplies it, because the answer needs symbols.
using SameLine = std::function<bool(const session::Process&, std::uint32_t, std::uint32_t)>;

// A function that returns what a call's number counts, as diagnose::counted_calls() does. It needs symbols, too.
using CountedCalls = std::function<std::string(const session::Process& shown, std::uint32_t shown_site,
                                               const session::Process& of, const std::vector<std::uint32_t>& sites)>;

}  // namespace cudadiag::analyse
