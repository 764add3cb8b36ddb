// What failed, as a finding describes it: kernel, shape, place and the numbers that tell one launch from others.
#pragma once

#include <string>

#include "report/report.h"

namespace cudadiag::report {

// `mangled`: the kernel's name; empty: it is none, or not known.
Launch launch_of(const session::Process& process, const analyse::Candidate& candidate, const std::string& mangled);
Launch launch_of(const session::Process& process, const session::Error& error, const std::string& mangled);
// Of the candidate's node, where it has one, instead of the graph that ran it.
Launch node_launch_of(const session::Process& process, const analyse::Candidate& candidate, const std::string& mangled);

}  // namespace cudadiag::report
