// Adds the memory facts of a finding: the memory that the failing operation's pointers point to. For a call that ran
// out of memory, adds what held the memory.
#pragma once

#include <functional>
#include <utility>

#include "analyse/operation_arguments.h"
#include "diagnose/facts/model.h"

namespace cudadiag::diagnose {

// A function that returns the true line and the stack of a call site.
using ResolveSite = std::function<std::pair<Location, symbolize::SourceStack>(const session::Process&, std::uint32_t)>;

// Returns the allocation that a pointer among the arguments points to. `process` issued the operation.
PointedMemory allocation_of(const analyse::OperationArgument& argument, const session::Process& process,
                            const ResolveSite& resolve);

// Adds the operation before `launch` that wrote last to the allocation from which the kernel read the pointer.
void add_last_write(Access& access, const session::Process& process, const session::Operation& launch,
                    const session::Allocation& table, const ResolveSite& resolve);

void add_memory(Finding& finding, const analyse::Failure& failure, const session::Manifest& manifest,
                const ResolveSite& resolve);

}  // namespace cudadiag::diagnose
