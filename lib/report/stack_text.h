// Writes stacks, and the line that is blamed.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "diagnose/facts/report_model.h"
#include "report/text_layout.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::report {

// "train.py:112 main > :88 step > :41 forward (+6 library frames)", outermost first, with the innermost `named` frames;
// empty without user frames.
std::string stack_text(const symbolize::SourceStack& stack, const std::string& directory, std::size_t named);
// All frames, innermost first, with the user's frames marked.
Lines python_stack_lines(const std::vector<symbolize::PythonFrame>& stack, const std::string& directory);
Lines native_stack_lines(const symbolize::SourceStack& stack, const std::string& directory);
// "train.py:88 loss.item() (cudaMemcpyAsync): innocent"; empty if the failing call returned the error itself.
std::string blamed_text(const diagnose::Finding& finding, const std::string& directory);

}  // namespace cudadiag::report
