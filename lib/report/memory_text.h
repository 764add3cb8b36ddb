// The lines of a report about memory.
#pragma once

#include <string>
#include <vector>

#include "diagnose/causes/argument_facts.h"
#include "diagnose/diagnosis.h"

namespace cudadiag::report {

using causes::size_text;

// The operation's pointers that lie in freed memory or past an end, unless the cause names them; with `verbose`, all of
// them.
std::vector<std::string> wrong_pointer_lines(const diagnose::Finding& finding, const std::string& directory,
                                             bool verbose);
// The answer of PyTorch's allocator, if it was asked.
std::vector<std::string> tensor_lines(const diagnose::MemoryUse& memory, const std::string& directory, bool verbose);
// The request, the memory that was free, and who held the rest.
std::vector<std::string> memory_lines(const diagnose::MemoryUse& memory, const std::string& directory, bool verbose);

}  // namespace cudadiag::report
