// What `cudadiag list` shows of a session's finding. It is kept in the session, since making it means reading all of it.
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

// Read from the session, or made anew and kept there if reruns or another cudadiag have changed what it says. A session
// that cannot be read has an empty one.
SessionSummary summary_of(const std::filesystem::path& session);

}  // namespace cudadiag::command
