// The report as one file for a browser: everything that `-v` prints, with long stacks folded. It has no script, loads
// nothing, and what the target could have put into it is text.
#pragma once

#include <string>

#include "diagnose/diagnosis.h"

namespace cudadiag::report {

std::string write_html(const diagnose::Diagnosis& report);

}  // namespace cudadiag::report
