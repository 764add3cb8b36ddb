// Finds the forward line of a backward kernel, because PyTorch's autograd launches that kernel from a thread without a
// line of the user's. Proven if a rerun read the line from the node, else inferred; no line is named if two are
// possible.
#pragma once

#include <string>

#include "analyse/analysis.h"
#include "session/session.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

struct ForwardLine {
  std::string node;              // "GatherBackward0"; empty if autograd did not launch this, or not for an operator
  symbolize::Location location;  // if it is not known(), `because` says why
  std::string because;
  symbolize::Location called;  // the line that called backward(), if known
  bool own_code = false;       // the user's own code in the backward pass made the launch
  bool proven = false;         // `location` is the line that PyTorch kept when it made the node
};

// `stack` is the stack of the operation.
ForwardLine forward_line(const session::Process& process, const session::Operation& operation,
                         const symbolize::SourceStack& stack, symbolize::Symbolizer& symbolizer);

// Replaces `forward` by the line that the confirming rerun read from the failing operation's node, if it did.
void prove_forward_line(ForwardLine& forward, const analyse::Failure& failure, symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::diagnose
