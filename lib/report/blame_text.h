// Names the call at which the program saw the error, and says that it is innocent.
#pragma once

#include <string>

#include "diagnose/diagnosis.h"

namespace cudadiag::report {

// "train.py:88 loss.item() (cudaMemcpyAsync): innocent"; empty if the failing call itself reported the error.
std::string blamed_text(const diagnose::Finding& finding, const std::string& directory);

}  // namespace cudadiag::report
