// Whom the program blames, and that he is innocent.
#pragma once

#include <string>

#include "diagnose/diagnosis.h"

namespace cudadiag::report {

// "train.py:88 loss.item() (cudaMemcpyAsync): innocent"; empty: the failing call is the one that said so.
std::string blamed_text(const diagnose::Finding& finding, const std::string& directory);

}  // namespace cudadiag::report
