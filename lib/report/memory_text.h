// Writes the lines of a report that are about memory.
#pragma once

#include <string>
#include <vector>

#include "diagnose/causes/argument_facts.h"
#include "diagnose/facts/model.h"

namespace cudadiag::report {

using causes::size_text;

// Returns the operation's pointers into freed memory or past the end of an allocation, unless the cause already names
// them. If `verbose`, always returns all of them.
std::vector<std::string> wrong_pointer_lines(const diagnose::Finding& finding, const std::string& directory,
                                             bool verbose);
// Returns what PyTorch's allocator reported, if a rerun queried it.
std::vector<std::string> tensor_lines(const diagnose::MemoryUse& memory, const std::string& directory, bool verbose);
// Returns what was requested, how much was free, and what used the rest.
std::vector<std::string> memory_lines(const diagnose::MemoryUse& memory, const std::string& directory, bool verbose);

}  // namespace cudadiag::report
