// Finds the user's line behind an operation that a library's thread issued: the line of the forward pass, or the line
// that started the thread.
#pragma once

#include <optional>
#include <string>

#include "analyse/analysis.h"
#include "diagnose/facts/report_model.h"
#include "session/session.h"
#include "symbolize/source_frame.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// Finds the forward line of a backward kernel: the user's line that called the operator. PyTorch's autograd launches
// the kernel on a thread that runs none of the user's code. The line is proven if a rerun read it from the autograd
// node, else inferred. If several lines are possible, the line is unknown.
struct ForwardLine {
  std::string node;              // "GatherBackward0"; empty unless autograd launched the kernel for an operator
  symbolize::Location location;  // if not known(), `because` gives the reason
  std::string because;
  symbolize::Location called;  // the line that called backward(), if known
  bool own_code = false;       // the user's own code in the backward pass launched the kernel
  bool proven = false;         // `location` is the line that PyTorch recorded when it created the node
};

// `stack` is the stack of the operation.
ForwardLine forward_line(const session::Process& process, const session::Operation& operation,
                         const symbolize::SourceStack& stack, symbolize::Symbolizer& symbolizer);

// If the confirming rerun read a line from the failing operation's node, replaces `forward` with that line.
void prove_forward_line(ForwardLine& forward, const analyse::Failure& failure, symbolize::Symbolizer& symbolizer);

// Replaces `line`, the line of the failing operation, with the line that started its thread. Returns nullopt and keeps
// `line` if it is in the user's code, or if no line of the user's code is known to have started the thread.
std::optional<ThreadStart> lead_to_start(symbolize::TrueLine& line, const analyse::Failure& failure,
                                         symbolize::Symbolizer& symbolizer);

}  // namespace cudadiag::diagnose
