// The forward line of a backward kernel: PyTorch's autograd launches the kernel from a thread that has no line of the
// user's. Proven if a rerun took it from the node itself, inferred otherwise; no line is named if two are possible.
#pragma once

#include <string>

#include "analyse/analysis.h"
#include "session/session.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

struct ForwardLine {
  std::string node;              // "GatherBackward0"; empty: autograd did not launch this, or not for an operator
  symbolize::Location location;  // known(), or else `because` says why not
  std::string because;
  symbolize::Location called;  // the line that called backward(), where it is known
  bool own_code = false;       // the launch was made by code of the user's that runs in the backward pass
  bool proven = false;         // `location` is what PyTorch kept when it made the node
};

// `stack`: the operation's own.
ForwardLine forward_line(const session::Process& process, const session::Operation& operation,
                         const symbolize::SourceStack& stack, symbolize::Symbolizer& symbolizer);

// Replaces `forward` by what the confirming rerun knows about the failing operation's node.
void prove_forward_line(ForwardLine& forward, const analyse::Failure& failure, symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::diagnose
