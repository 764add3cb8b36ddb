// Writes what is known about a failure: the access, the device line, values, pointers, and the memory in use.
#pragma once

#include <string>

#include "diagnose/facts/report_model.h"
#include "report/text_layout.h"

namespace cudadiag::report {

// "load of 4 bytes at 0x7f5b61a00000 by block 2,0,0 thread 512,0,0; 32 threads, all past the same end". `verbose` adds
// the source of these facts.
Lines access_lines(const diagnose::Finding& finding, bool verbose);
// "idx int64 [8,512] cuda:0, min 0, max 30050, 3 too large"
std::string argument_line(const diagnose::Argument& argument, const std::string& directory);
// At most three arguments that prove the cause. If `verbose`, all arguments, the proving ones first.
Lines argument_lines(const diagnose::Finding& finding, const std::string& directory, bool verbose);
// The first line gives the location and the threads. The next lines give the message, and how the dump matches the
// first run. `verbose` adds the calls through which the line was inlined.
Lines device_lines(const diagnose::Finding& finding, const std::string& directory, bool verbose);
Lines origin_lines(const diagnose::ValueOrigin& origin, const std::string& directory);
// The operation's pointers into freed memory or past the end of an allocation, unless the cause already names them. If
// `verbose`, always all of them.
Lines wrong_pointer_lines(const diagnose::Finding& finding, const std::string& directory, bool verbose);
// What PyTorch's allocator reported, if a rerun queried it.
Lines tensor_lines(const diagnose::MemoryUse& memory, const std::string& directory, bool verbose);
// The requested bytes, the free bytes, and what used the rest.
Lines memory_lines(const diagnose::MemoryUse& memory, const std::string& directory, bool verbose);

}  // namespace cudadiag::report
