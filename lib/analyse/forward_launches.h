// Finds the forward-pass launches of the autograd node that launched a kernel in the backward pass. Nodes are
// identified by number and thread (wire/operation.h). Launches of other operators may carry the same number, so the
// caller must compare source lines to find those of the node's own operator.
#pragma once

#include <string>
#include <vector>

#include "session/process_record.h"

namespace cudadiag::analyse {

struct ForwardLaunches {
  std::vector<const session::Operation*> claims;  // launches with the node's number, in the order of issue
  bool whole = false;                             // no launch of the node is missing from `claims`
};

// Returns whether the thread was executing an autograd node of a backward pass when it issued the operation.
inline bool runs_node(const session::Operation& operation) { return operation.origin.node_thread != 0; }
// Returns whether the node belongs to an operator of the forward pass. Returns false for a node that accumulates the
// gradients of a leaf.
inline bool has_forward(const session::Operation& operation) {
  return runs_node(operation) && operation.origin.node != wire::operation::kUnnumbered &&
         operation.origin.node_thread != wire::operation::kManyThreads;
}

ForwardLaunches forward_launches(const session::ProcessRecord& record, const session::Operation& backward);

// Returns a launch whose Python stack contains the backward() call during which `backward` was issued. This is
// `backward` itself, or the last launch of the thread that waits inside the backward() call. Returns null if we cannot
// be certain.
const session::Operation* launch_in_backward_call(const session::ProcessRecord& record,
                                                  const session::Operation& backward);

// Returns whether the frame is PyTorch's own and starts autograd's engine.
bool is_engine_call(const std::string& file, const std::string& function);
// Returns whether the frame is PyTorch's own and calls the forward() of a user's autograd.Function.
bool is_function_apply(const std::string& file, const std::string& function);

// Returns "GatherBackward0" for "N5torch8autograd9generated15GatherBackward0E". Returns a type of a different form
// unchanged, and "" if the type is unknown.
std::string node_name(const session::ProcessRecord& record, const session::Operation& backward);

}  // namespace cudadiag::analyse
