// A summary of a session's finding, for `cudadiag list`. The session stores it, because computing it means reading the
// whole recording.
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

// Reads the summary from the session. If reruns have changed the session since, or another build of cudadiag wrote the
// summary, computes it again and stores it. If the session cannot be read, returns an empty summary.
SessionSummary summary_of(const std::filesystem::path& session);

}  // namespace cudadiag::command
