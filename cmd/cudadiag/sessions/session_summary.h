// The summary of a session's finding for `cudadiag list`. It is cached in the session, because computing it means
// reading the whole recording.
#pragma once

#include <filesystem>
#include <string>

namespace cudadiag::command {

struct SessionSummary {
  std::string kind;   // as in the JSON report, such as "async_error"; empty without a finding
  std::string title;  // "illegal memory access"
  int code = 0;       // the CUDA error code; 0 if none
  std::string file;   // the file of the true line; empty if unknown
  int line = 0;
  std::string function;
  std::string grade;  // "proven"
};

// Returns the cached summary. Computes and stores it again if the session has been rerun since, or if another build of
// cudadiag stored it. Returns an empty summary if the session cannot be read.
SessionSummary summary_of(const std::filesystem::path& session);

}  // namespace cudadiag::command
