// Finds lines: those of call sites, with their symbols and kernels, and those at which processes are.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "analyse/analysis.h"
#include "diagnose/facts/report_model.h"
#include "session/session.h"
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

// Returns whether another call site of the same kernel is on the same line, as in a loop that the compiler unrolled. If
// so, the line has more calls than this site.
bool shares_line(symbolize::Symbolizer& symbolizer, const session::Process& process, std::uint32_t site_id,
                 const symbolize::Location& line);

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

}  // namespace cudadiag::diagnose
