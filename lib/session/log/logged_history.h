// Adds operations from a full log to a process's record. A log may have millions of operations, so this adds only the
// few that the analysis may need. Without the log, the record has only the latest operations, which are in the rings.
//
//   unfinished   operations that are not known to have finished
//   events       for each kept wait, the event record that it waited for; for each stream, the latest event record
//                that the host saw complete
//   forward      forward launches of the autograd nodes whose backward functions were running
//   numbers      for each kept operation, the number of operations issued up to and including it
//
// The log is read twice, and is never completely in memory.
#pragma once

#include <filesystem>
#include <vector>

#include "session/log/full_log.h"
#include "session/process_record.h"
#include "session/session.h"

namespace cudadiag::session {

void join_log(LogReader& log, ProcessRecord& record);

// Finds the logs of these processes in a pass folder, and adds them to the processes' records.
void attach_logs(const std::filesystem::path& folder, std::vector<Process>& processes);

}  // namespace cudadiag::session
