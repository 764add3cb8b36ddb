// The report as one file for a browser: everything that `-v` prints, with long stacks folded. It has no script, loads
// nothing, and what the target could have put into it is text.
#pragma once

#include <string>

#include "report/report.h"

namespace cudadiag::report {

std::string write_html(const Report& report);

}  // namespace cudadiag::report
