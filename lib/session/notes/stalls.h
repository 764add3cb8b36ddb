// Operations that were found not to end while the program ran (`--hang-report`): a part of the manifest. The records of
// an operation can leave their ring before the program ends, so that each stall has copies of those it needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "session/process_record.h"

namespace cudadiag::session {

struct Stall {
  std::uint32_t pid = 0;
  std::uint64_t started = 0;          // ProcessRecord::start_realtime of its process
  double seconds = 0;                 // for which it had not ended when it was reported
  std::optional<double> ended_after;  // seconds; nothing: it was not seen to end
  std::vector<Operation> operations;  // one of these is it, likeliest first; streams and threads are of its process
  std::vector<std::string> because;   // clauses
  bool certain = false;               // nothing else can be it
  // For an operation that waits for another stream: what that stream has not reached.
  std::optional<Operation> recorded;  // an event
  std::optional<Operation> write;     // a value
  // The thread that waits for it; nothing: none does.
  std::optional<Thread> thread;
  std::uint32_t site = 0;           // of the call that it waits in
  std::optional<Operation> issues;  // that this call issues
};

// A JSON array, for the manifest.
std::string write_stalls(const std::vector<Stall>& stalls);

// Values of another type are left at their default. Nothing says yet that their numbers fit the process.
std::vector<Stall> parse_stalls(const std::string& array);

}  // namespace cudadiag::session
