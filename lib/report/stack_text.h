// Writes the stack of an operation, on one line or frame by frame, and the call at which the program noticed the error.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "diagnose/facts/model.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::report {

// Returns text such as "train.py:112 main > :88 step > :41 forward (+6 library frames)", outermost first, with the
// innermost `named` frames; empty without user frames.
std::string stack_text(const symbolize::SourceStack& stack, const std::string& directory, std::size_t named);

// These functions return all frames, innermost first, with the user's frames marked.
std::vector<std::string> python_stack_lines(const std::vector<symbolize::PythonFrame>& stack,
                                            const std::string& directory);
std::vector<std::string> native_stack_lines(const symbolize::SourceStack& stack, const std::string& directory);

// Returns text such as "train.py:88 loss.item() (cudaMemcpyAsync): innocent"; empty if the failing call returned the
// error itself.
std::string blamed_text(const diagnose::Finding& finding, const std::string& directory);

}  // namespace cudadiag::report
