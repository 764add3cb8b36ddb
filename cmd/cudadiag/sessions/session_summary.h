// The summary of a session's finding for `cudadiag list`. It is stored in the session, because computing it requires
// reading the whole recording.
#pragma once

#include <filesystem>
#include <string>

namespace cudadiag::command {

struct SessionSummary {
  std::string kind;   // as in the JSON of a report, such as "async_error"; empty without a finding
  std::string title;  // "illegal memory access"
  int code = 0;       // of the CUDA error; 0 for none
  std::string file;   // of the true line; empty if unknown
  int line = 0;
  std::string function;
  std::string grade;  // "proven"
};

// Reads the summary from the session. Computes and stores it again if reruns have changed the session, or if another
// build of cudadiag stored it. Returns an empty summary if the session cannot be read.
SessionSummary summary_of(const std::filesystem::path& session);

}  // namespace cudadiag::command
