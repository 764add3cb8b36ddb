// Writes what is known about a failure as lines of a report: the access, the arguments, the GPU's evidence, and the
// origin of a bad value.
#pragma once

#include <string>
#include <vector>

#include "diagnose/facts/model.h"

namespace cudadiag::report {

// Returns lines such as "load of 4 bytes at 0x7f5b61a00000 by block 2,0,0 thread 512,0,0; 32 threads, all past the same
// end". `verbose` adds the source of these facts.
std::vector<std::string> access_lines(const diagnose::Finding& finding, bool verbose);

// Returns a line such as "idx int64 [8,512] cuda:0, min 0, max 30050, 3 too large".
std::string argument_line(const diagnose::Argument& argument, const std::string& directory);

// Returns at most three arguments that prove the cause. If `verbose`, returns all arguments, the proving ones first.
std::vector<std::string> argument_lines(const diagnose::Finding& finding, const std::string& directory, bool verbose);

// The first line gives the location and the threads. The next lines give the message, and how the dump matches the
// first run. `verbose` adds the calls through which the line was inlined.
std::vector<std::string> device_lines(const diagnose::Finding& finding, const std::string& directory, bool verbose);

std::vector<std::string> origin_lines(const diagnose::Origin& origin, const std::string& directory);

}  // namespace cudadiag::report
