// The memory facts of a finding: the failing operation's pointers and where they lead, and what held the memory that a
// call lacked.
#pragma once

#include <functional>
#include <utility>

#include "analyse/operation_arguments.h"
#include "diagnose/diagnosis.h"

namespace cudadiag::diagnose {

// The true line of a site of a process, and its stack.
using ResolveSite = std::function<std::pair<Location, symbolize::SourceStack>(const session::Process&, std::uint32_t)>;

// The allocation that a pointer among the arguments of `process` leads to.
PointedMemory allocation_of(const analyse::OperationArgument& argument, const session::Process& process,
                            const ResolveSite& resolve);

void add_memory(Finding& finding, const analyse::Failure& failure, const session::Manifest& manifest,
                const ResolveSite& resolve);

}  // namespace cudadiag::diagnose
