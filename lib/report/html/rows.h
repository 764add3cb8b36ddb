// Writes sections of a report as table rows.
#pragma once

#include <string>

#include "report/html/markup.h"
#include "report/page.h"

namespace cudadiag::report {

// Folds a section if it has many lines.
std::string row(const Section& section, const Markup& markup);
std::string table(const std::string& rows);

// Returns a stack, folded.
std::string folded(const Section& section, const Markup& markup);

}  // namespace cudadiag::report
