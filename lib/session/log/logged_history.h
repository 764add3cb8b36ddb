// Adds a full log to a process's record: of millions of operations, those that an answer can rest on. The horizon of
// the rings then no longer matters.
//
//   unfinished   operations after the last one of their stream that is known to have finished
//   events       for each wait that is kept, the record that its event stood for, and of each stream the latest such
//                record that the host saw complete
//   forward      what PyTorch launched under the number of a node that is being run backwards
//   numbers      how many operations had been issued up to each that is kept
//
// The log is read twice, and never held.
#pragma once

#include <filesystem>
#include <vector>

#include "session/log/log_reader.h"
#include "session/process_record.h"
#include "session/session.h"

namespace cudadiag::session {

void join_log(LogReader& log, ProcessRecord& record);

// Finds the logs of these processes in a pass's folder, and joins them.
void attach_logs(const std::filesystem::path& folder, std::vector<Process>& processes);

}  // namespace cudadiag::session
