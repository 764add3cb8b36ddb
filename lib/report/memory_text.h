// The lines of a report about memory.
#pragma once

#include <string>
#include <vector>

#include "explain/argument_facts.h"
#include "report/report.h"

namespace cudadiag::report {

using explain::size_text;

// Pointers among what the operation was given that lie in freed memory or past an end, unless the cause tells of them;
// with `verbose` all of them in any case.
std::vector<std::string> wrong_pointer_lines(const Finding& finding, const std::string& directory, bool verbose);
// The answer of PyTorch's allocator, if it was asked.
std::vector<std::string> tensor_lines(const MemoryUse& memory, const std::string& directory, bool verbose);
// The request, the memory that was free, and who held the rest.
std::vector<std::string> memory_lines(const MemoryUse& memory, const std::string& directory, bool verbose);

}  // namespace cudadiag::report
