// Writes a report's lines about memory.
#pragma once

#include <string>
#include <vector>

#include "diagnose/causes/argument_facts.h"
#include "diagnose/diagnosis.h"

namespace cudadiag::report {

using causes::size_text;

// The operation's pointers into freed memory or past the end of an allocation, unless the cause names them. With
// `verbose`, always all of them.
std::vector<std::string> wrong_pointer_lines(const diagnose::Finding& finding, const std::string& directory,
                                             bool verbose);
// The report of PyTorch's allocator, if a rerun requested it.
std::vector<std::string> tensor_lines(const diagnose::MemoryUse& memory, const std::string& directory, bool verbose);
// The request, the free memory, and the holders of the rest.
std::vector<std::string> memory_lines(const diagnose::MemoryUse& memory, const std::string& directory, bool verbose);

}  // namespace cudadiag::report
