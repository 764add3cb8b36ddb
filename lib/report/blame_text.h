// Whom the program blames, and that he is innocent.
#pragma once

#include <string>

#include "report/report.h"

namespace cudadiag::report {

// "train.py:88 loss.item() (cudaMemcpyAsync): innocent"; empty: the failing call is the one that said so.
std::string blamed_text(const Finding& finding, const std::string& directory);

}  // namespace cudadiag::report
