// A call site with its symbols: where, how it got there, on which kernel's behalf.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analyse/analysis.h"
#include "diagnose/diagnosis.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

struct ResolvedSite {
  symbolize::SourceStack stack;
  symbolize::TrueLine line;
  std::string mangled;
};

// `function`: of the kernel, where it is another than the site's.
ResolvedSite resolve(symbolize::Symbolizer& symbolizer, const session::Process& process, std::uint32_t site_id,
                     std::uint32_t function = 0);

// Another call site of the same kernel lies on the same line, in a loop that the compiler unrolled, say, or further in:
// the calls of one of them are not those of the line.
bool shares_line(symbolize::Symbolizer& symbolizer, const session::Process& process, std::uint32_t site_id,
                 const symbolize::Location& line);

// For analyse::analyse. `symbolizer` must outlive it.
analyse::SameLine same_line_by(symbolize::Symbolizer& symbolizer);

// The same location, with the text of its source line.
Location located(const symbolize::Location& from);

// Kernel, graph, copy, memset or call.
session::Work work_of(wire::operation::Kind kind);
// Any work.
session::Work work_of(const session::Operation& operation);

}  // namespace cudadiag::diagnose
