// Writes a finding as sections of a page, and the lines of single sections.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "diagnose/causes/case.h"
#include "diagnose/facts/report_model.h"
#include "report/text_layout.h"
#include "symbolize/symbolizer.h"

namespace cudadiag::report {

using causes::size_text;

// "illegal memory access (700) in train.py:41, forward", with paths inside `directory` relative to it.
std::string headline(const diagnose::Finding& finding, const std::string& directory);

// The command. Without a launcher, that of the process that failed.
std::string command_text(const diagnose::Diagnosis& report);

// The title of a hang that the user interrupted: "interrupted while smooth (demo.cc:86) had been running for 6.2 s".
std::string interruption(const diagnose::Finding& finding, const std::string& place);

// `ranks`: the report's lines about the job's ranks; empty to omit them.
void add_finding(Page& page, const diagnose::Finding& finding, const Lines& ranks, const std::string& directory,
                 bool verbose);

// ---- evidence_text.cc: the access, the device line, values, pointers, and the memory in use

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

// ---- stack_text.cc: stacks, and the line that is blamed

// "train.py:112 main > :88 step > :41 forward (+6 library frames)", outermost first, with the innermost `named` frames;
// empty without user frames.
std::string stack_text(const symbolize::SourceStack& stack, const std::string& directory, std::size_t named);
// All frames, innermost first, with the user's frames marked.
Lines python_stack_lines(const std::vector<symbolize::PythonFrame>& stack, const std::string& directory);
Lines native_stack_lines(const symbolize::SourceStack& stack, const std::string& directory);
// "train.py:88 loss.item() (cudaMemcpyAsync): innocent"; empty if the failing call returned the error itself.
std::string blamed_text(const diagnose::Finding& finding, const std::string& directory);

// ---- race_text.cc: the lines of a race

// "race between two streams: train.py:41, after train.py:38". `paths`: with the paths of the files, and not only their
// names.
std::string race_headline(const diagnose::Finding& finding, const std::string& directory, bool paths = true);
// "x float32[1048576]: argument self of aten::add_ (written); argument self of aten::sum (read)", in one or two lines;
// empty if neither tensors nor operators are known.
Lines race_tensors(const diagnose::ResolvedRace& race);
// The bytes that both accesses use, one of the accesses with its stack, and the memory that they use.
Lines shared_bytes(const diagnose::ResolvedRace& race);
Lines racing_access_lines(const diagnose::ResolvedAccess& access, const std::string& directory, bool verbose);
Lines race_memory(const diagnose::ResolvedRace& race, const std::string& directory);

}  // namespace cudadiag::report
