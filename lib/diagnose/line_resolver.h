// Finds lines: those of call sites, with their symbols and kernels, those at which processes are, and the user's line
// for an operation that a library's thread issued.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyse/analysis.h"
#include "diagnose/facts/report_model.h"
#include "session/session.h"
#include "symbolize/source_stack.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// A call site with its symbols: its line, its stack, and the kernel that it launched.
struct ResolvedSite {
  symbolize::SourceStack stack;
  symbolize::TrueLine line;
  std::string mangled;
};

// `function` is the id of the kernel if that is not the site's own kernel; otherwise 0.
ResolvedSite resolve(symbolize::Symbolizer& symbolizer, const session::Process& process, std::uint32_t site_id,
                     std::uint32_t function = 0);

// A function that returns the true line and the stack of a call site.
using ResolveSite = std::function<std::pair<Location, symbolize::SourceStack>(const session::Process&, std::uint32_t)>;

// `symbolizer` must outlive the result.
ResolveSite located_by(symbolize::Symbolizer& symbolizer);

// Returns what the number of a call counts, in the words that follow "call 3": "of this line" if the line has no other
// call site, "from train.py:9" for the nearest caller in the user's code through which no other site of the line and
// kernel is reached, or "with this stack". Empty if several threads have this stack, because each counts its own calls.
// `sites`: those of `process` whose calls are counted together. The report shows the line of `shown_site` in `shown`.
std::string counted_calls(symbolize::Symbolizer& symbolizer, const session::Process& shown, std::uint32_t shown_site,
                          const session::Process& process, const std::vector<std::uint32_t>& sites);
// `symbolizer` must outlive the function.
analyse::CountedCalls counted_calls_by(symbolize::Symbolizer& symbolizer);

// Returns a function that tells whether two call sites are on the same line. `symbolizer` must outlive the function.
analyse::SameLine same_line_by(symbolize::Symbolizer& symbolizer);

// Adds the text of the source line to the location.
Location located(const symbolize::Location& from);

// Distinguishes only kernels, graphs, copies and memsets from other calls.
session::Work work_of(wire::operation::Kind kind);
// Unlike the overload above, also distinguishes waits, allocations and other work.
session::Work work_of(const session::Operation& operation);

// Prefers the main thread. Returns nullopt if no stack was read, or the stack has no line.
std::optional<Location> host_line(const session::Session& session, const session::Process& process,
                                  symbolize::Symbolizer& symbolizer);

// Returns the newest operation with a known line; null if none of the latest operations has one.
const session::Operation* latest_of_a_line(const session::Process& process, symbolize::Symbolizer& symbolizer);

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
