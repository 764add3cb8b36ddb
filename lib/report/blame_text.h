// Names the call at which the program noticed the error, and says that this call is innocent.
#pragma once

#include <string>

#include "diagnose/facts/model.h"

namespace cudadiag::report {

// Returns text such as "train.py:88 loss.item() (cudaMemcpyAsync): innocent"; empty if the failing call returned the
// error itself.
std::string blamed_text(const diagnose::Finding& finding, const std::string& directory);

}  // namespace cudadiag::report
