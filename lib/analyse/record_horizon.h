// How far back the records of a process are complete. A ring keeps the latest records of a thread. Older records are
// kept only for unfinished operations, so a missing older record proves nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "session/process_record.h"

namespace cudadiag::analyse {

// Returns the earliest tick after which no record of any thread is missing. Returns 0 if no record is missing, and the
// largest value if the newest records are missing.
std::uint64_t complete_since(const session::ProcessRecord& record);
// Returns complete_since() of each thread, at the thread's index.
std::vector<std::uint64_t> threads_complete_since(const session::ProcessRecord& record);

// Numbers a process's stream operations in the order in which the process issued them, including captured ones.
class IssueOrder {
 public:
  explicit IssueOrder(const session::ProcessRecord& record);
  // Returns how many operations were issued up to and including `operation`; nullopt if lost records make that unknown.
  std::optional<std::uint64_t> ordinal(const session::Operation& operation) const;

 private:
  std::vector<std::uint64_t> ticks_;  // of the recorded operations, ascending
  std::uint64_t complete_since_;
  std::uint64_t lost_ = 0;  // how many operations have no record, according to the counters of the threads
  bool countable_ = false;
};

}  // namespace cudadiag::analyse
