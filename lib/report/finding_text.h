// Writes a finding as sections of a page. evidence_text.h, stack_text.h and race_text.h have the lines of single
// sections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/causes/case.h"
#include "diagnose/facts/report_model.h"
#include "report/text_layout.h"

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

}  // namespace cudadiag::report
