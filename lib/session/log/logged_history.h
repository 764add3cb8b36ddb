// Adds a full log to a process's record: the operations, among millions, that an answer can depend on. Without the log,
// the record has only the latest operations, which the rings contain.
//
//   unfinished   operations after the last one of their stream that is known to have finished
//   events       for each kept wait, the event record that it waited for; for each stream, the latest event record
//                that the host saw complete
//   forward      what PyTorch launched forward for the autograd nodes that are being run backwards
//   numbers      how many operations had been issued up to each kept operation
//
// The log is read twice, and is never completely in memory.
#pragma once

#include <filesystem>
#include <vector>

#include "session/log/log_reader.h"
#include "session/process_record.h"
#include "session/session.h"

namespace cudadiag::session {

void join_log(LogReader& log, ProcessRecord& record);

// Finds the logs of these processes in a pass folder, and adds them to the processes' records.
void attach_logs(const std::filesystem::path& folder, std::vector<Process>& processes);

}  // namespace cudadiag::session
