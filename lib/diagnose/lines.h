// A call site with its symbols: its line, its stack, and the kernel that it launched.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analyse/analysis.h"
#include "diagnose/facts/model.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

struct ResolvedSite {
  symbolize::SourceStack stack;
  symbolize::TrueLine line;
  std::string mangled;
};

// `function` is the id of the kernel if that is not the site's own kernel; otherwise 0.
ResolvedSite resolve(symbolize::Symbolizer& symbolizer, const session::Process& process, std::uint32_t site_id,
                     std::uint32_t function = 0);

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

}  // namespace cudadiag::diagnose
