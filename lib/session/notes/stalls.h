// Operations that hung while the program ran (`--hang-report`): a part of the manifest. An operation's records may be
// overwritten in their ring before the program ends, so each stall has copies of the records that it needs.
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
  double seconds = 0;                 // how long it had hung when it was reported
  std::optional<double> ended_after;  // seconds; nullopt if the end was not observed
  std::vector<Operation> operations;  // one of these hangs, most likely first; ids are those of the process
  std::vector<std::string> because;   // clauses
  bool certain = false;               // no other operation can be the one that hangs
  // If the operation waits for another stream: the event or value that this stream has not reached.
  std::optional<Operation> recorded;  // an event
  std::optional<Operation> write;     // a value
  // The thread that waits for the operation; nullopt if no thread does.
  std::optional<Thread> thread;
  std::uint32_t site = 0;           // of the call in which the thread waits
  std::optional<Operation> issues;  // the operation that this call issues
};

// Returns a JSON array for the manifest.
std::string write_stalls(const std::vector<Stall>& stalls);

// Values of the wrong type keep their default. Does not check whether the ids exist in the process.
std::vector<Stall> parse_stalls(const std::string& array);

}  // namespace cudadiag::session
