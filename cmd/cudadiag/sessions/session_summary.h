// The summary of a session's finding for `cudadiag list`. It is kept in the session, because making it takes reading
// the whole recording.
#pragma once

#include <filesystem>
#include <string>

namespace cudadiag::command {

struct SessionSummary {
  std::string kind;   // as in the JSON of a report: "async_error"; empty: there is no finding
  std::string title;  // "illegal memory access"
  int code = 0;       // of the CUDA error; 0: none
  std::string file;   // of the true line; empty: not known
  int line = 0;
  std::string function;
  std::string grade;  // "proven"
};

// Read from the session; or made again, and kept there, if reruns or another cudadiag have changed it. Empty for a
// session that cannot be read.
SessionSummary summary_of(const std::filesystem::path& session);

}  // namespace cudadiag::command
