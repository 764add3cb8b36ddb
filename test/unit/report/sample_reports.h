// Hand-built reports, one for each case that the writers must handle.
#pragma once

#include <string>
#include <vector>

#include "diagnose/facts/report_model.h"

namespace cudadiag::report {

using Lines = std::vector<std::string>;

diagnose::Diagnosis python_report();     // one bracketed asynchronous failure in Python
diagnose::Diagnosis native_report();     // a kernel called through ctypes, with several candidates, noticed at exit
diagnose::Diagnosis refused_report();    // a failed launch without a line, in one of three processes
diagnose::Diagnosis crowded_report();    // every section has its maximum length
diagnose::Diagnosis device_report();     // python_report() plus facts from a GPU core dump
diagnose::Diagnosis explained_report();  // python_report() plus its arguments and its cause
diagnose::Diagnosis example_report();    // README's example, as a GPU and PyTorch 2.11 gave it
diagnose::Diagnosis clean_report();
diagnose::Diagnosis undetailed_report();    // a core dump that gave no facts
diagnose::Diagnosis parted_ranks_report();  // no failure, but the ranks diverge at a collective

std::string read_file(const std::string& path);

}  // namespace cudadiag::report
