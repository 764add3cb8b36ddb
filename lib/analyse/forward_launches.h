// A kernel that PyTorch's autograd launched, and the launches of the forward pass for the node that it belongs to.
// Nodes are identified by number and thread (wire/operation.h). Callers that know the lines decide which of the
// launches under a node's number belong to its own operator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "session/process_record.h"

namespace cudadiag::analyse {

struct ForwardLaunches {
  std::vector<const session::Operation*> claims;  // under the node's number, in the order of their issue
  bool whole = false;  // the first of them is the first there was: what the thread did before is known
};

// Whether the thread was running a node of an autograd graph backwards when it issued this.
inline bool runs_node(const session::Operation& operation) { return operation.origin.node_thread != 0; }
// Whether the node belongs to an operator: a node that adds up the gradients of a leaf does not.
inline bool has_forward(const session::Operation& operation) {
  return runs_node(operation) && operation.origin.node != wire::operation::kUnnumbered &&
         operation.origin.node_thread != wire::operation::kManyThreads;
}

ForwardLaunches forward_launches(const session::ProcessRecord& record, const session::Operation& backward);

// The launch whose Python stack leads to the call of backward() that ran the node: the operation's own, or the last one
// of the thread that has been waiting in there since. Null if that is not certain.
const session::Operation* launch_in_backward_call(const session::ProcessRecord& record,
                                                  const session::Operation& backward);

// A frame of PyTorch's own that starts autograd's engine.
bool is_engine_call(const std::string& file, const std::string& function);
// A frame of PyTorch's own inside of which the user's own autograd.Function runs forward.
bool is_function_apply(const std::string& file, const std::string& function);

// "GatherBackward0" of "N5torch8autograd9generated15GatherBackward0E"; as it is if it is of another form, empty if the
// type is not known.
std::string node_name(const session::ProcessRecord& record, const session::Operation& backward);

}  // namespace cudadiag::analyse
