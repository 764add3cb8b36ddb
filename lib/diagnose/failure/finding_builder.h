// Builds a finding from one failure: its lines, operation, arguments and memory.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analyse/analysis.h"
#include "analyse/operation_arguments.h"
#include "diagnose/facts/report_model.h"
#include "diagnose/line_resolver.h"
#include "session/process_record.h"
#include "session/session.h"
#include "symbolize/source_stack.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::diagnose {

// Facts from other runs and other findings are added later (diagnosis.cc).
Finding finding_of(const analyse::Failure& failure, const session::Session& session, symbolize::Symbolizer& symbolizer);

// Returns a finding about this process. Only its kind and its title are set.
Finding finding_in(const session::Process& process, const session::Session& session, analyse::Kind kind,
                   std::string title);

// Makes the line the finding's location, and reads the text around it.
void lead_with(Finding& finding, Location location, symbolize::SourceStack stack);

// Adds findings that no failed call reported.
void add_findings(Diagnosis& report, std::vector<Finding> found);

// Returns the allocation that a pointer among the arguments points to. `process` issued the operation.
PointedMemory allocation_of(const analyse::OperationArgument& argument, const session::Process& process,
                            const ResolveSite& resolve);

// Adds the line that freed the memory after the launch, in the order of a stream other than the launch's.
void add_later_free(PointedMemory& memory, const session::Allocation& from, const session::Operation& launch,
                    const session::Process& process, const ResolveSite& resolve);

// Adds the operation before `launch` that wrote last to the allocation from which the kernel read the pointer.
void add_last_write(Access& access, const session::Process& process, const session::Operation& launch,
                    const session::Allocation& table, const ResolveSite& resolve);

void add_memory(Finding& finding, const analyse::Failure& failure, const session::Manifest& manifest,
                const ResolveSite& resolve);

// Removes the lines that allocated or freed memory other than that of the failed access. Does nothing if that memory is
// unknown.
void keep_related(Finding& finding);

// `mangled` is the name of the kernel; empty if the operation is not a kernel, or the name is unknown.
Launch launch_of(const session::Process& process, const analyse::Candidate& candidate, const std::string& mangled);
Launch launch_of(const session::Process& process, const session::FailedCall& error, const std::string& mangled);
// Describes the candidate's node, which must not be null, rather than the graph launch that ran it.
Launch node_launch_of(const session::Process& process, const analyse::Candidate& candidate, const std::string& mangled);

// Returns how many of the possible launches are on the same line as the likeliest one.
std::size_t calls_of_line(const Finding& finding);

// The different kernels that may have failed.
struct PossibleKernels {
  std::size_t known = 0;
  bool more = false;  // kernels of graphs or of unlisted candidates may have failed too
  bool several() const { return known > 1 || more; }
};
PossibleKernels possible_kernels(const Finding& finding);

}  // namespace cudadiag::diagnose
