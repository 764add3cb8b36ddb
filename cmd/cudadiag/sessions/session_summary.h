// The summary of a session's finding for `cudadiag list`. It is cached in the session, because computing it means
// reading the whole recording.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "base/result.h"
#include "session/session.h"

namespace cudadiag::command {

struct SessionSummary {
  std::string kind;   // as in the JSON report, such as "async_error"; empty without a finding
  std::string title;  // "illegal memory access"
  int code = 0;       // the CUDA error code; 0 if none
  std::string file;   // the file of the true line; empty if unknown
  int line = 0;
  std::string function;
  std::string grade;   // "proven"
  std::string kernel;  // demangled; empty if no kernel failed
};

using ReadSession = std::function<const base::Result<session::Session>&()>;

// Returns the cached summary. Opens the session, computes the summary and stores it if the session has been rerun since,
// or if another build of cudadiag stored the summary. Returns an empty summary if the session cannot be read.
SessionSummary summary_of(const std::filesystem::path& folder, const ReadSession& open);

}  // namespace cudadiag::command
