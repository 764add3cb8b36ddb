// Describes the failed operation for a finding: kernel, shape, stream, device and ordinals.
#pragma once

#include <string>

#include "diagnose/facts/model.h"

namespace cudadiag::diagnose {

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
