// Operations that hung while the program ran (`--on-hang=report`) or when it was interrupted, as stored in the manifest.
// The records of an operation may be overwritten in their ring before the program ends. Each stall therefore has copies
// of the records that it needs.
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
  double seconds = 0;                 // how long the operation had hung when it was reported
  std::optional<double> ended_after;  // seconds until it ended; nullopt if no end was observed
  std::vector<Operation> operations;  // candidates for the one that hangs, most likely first; with the process's ids
  std::vector<std::string> because;   // clauses that give the reasons
  bool certain = false;               // no other operation can be the one that hangs
  bool interrupted = false;           // it was reported because a signal asked the program to end
  // If the operation waits for another stream, one of these is the operation that it waits for.
  std::optional<Operation> recorded;  // the event record
  std::optional<Operation> write;     // the write of the value
  // The thread that waits for the operation; nullopt if no thread does.
  std::optional<Thread> thread;
  std::uint32_t site = 0;           // site of the call in which the thread waits
  std::optional<Operation> issues;  // the operation that this call issues
};

// Returns a JSON array for the manifest.
std::string write_stalls(const std::vector<Stall>& stalls);

// Values of the wrong type keep their default. Does not check whether the ids exist in the process.
std::vector<Stall> parse_stalls(const std::string& array);

}  // namespace cudadiag::session
