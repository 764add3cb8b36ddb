// Sections of a report as rows of a table.
#pragma once

#include <string>

#include "report/html/markup.h"
#include "report/page.h"

namespace cudadiag::report {

// Many lines are folded.
std::string row(const Section& section, const Markup& markup);
std::string table(const std::string& rows);

// A stack, folded. Empty: the section is.
std::string folded(const Section& section, const Markup& markup);

}  // namespace cudadiag::report
