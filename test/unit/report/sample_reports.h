// Hand-built reports, one for each shape that the outputs must carry.
#pragma once

#include <string>
#include <vector>

#include "report/report.h"

namespace cudadiag::report {

using Lines = std::vector<std::string>;

Report python_report();     // one bracketed asynchronous failure in Python
Report native_report();     // a kernel behind ctypes, several candidates, found at exit
Report refused_report();    // a refused launch without a line, three processes
Report crowded_report();    // everything at its longest
Report device_report();     // the first with what a GPU core dump knows
Report explained_report();  // the first with its arguments and its cause
Report clean_report();
Report undetailed_report();    // a core dump that knows nothing
Report parted_ranks_report();  // no failure, but ranks that part at a collective

std::string read_file(const std::string& path);

}  // namespace cudadiag::report
