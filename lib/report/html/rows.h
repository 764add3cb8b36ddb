// Writes sections of a report as rows of a table.
#pragma once

#include <string>

#include "report/html/markup.h"
#include "report/page.h"

namespace cudadiag::report {

// Folds a section with many lines.
std::string row(const Section& section, const Markup& markup);
std::string table(const std::string& rows);

// A folded stack; empty if the section is.
std::string folded(const Section& section, const Markup& markup);

}  // namespace cudadiag::report
