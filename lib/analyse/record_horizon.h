// How far back a process's rings reach. A ring keeps the latest records of a thread. Older records are gone, except
// those of operations that were unfinished, so we must not conclude anything from a missing older record.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "session/process_record.h"

namespace cudadiag::analyse {

// Returns the tick since which no record of any thread is missing: 0 if none is missing at all, and the highest number
// if even the newest ones are.
std::uint64_t complete_since(const session::ProcessRecord& record);
// The same for each thread alone, by index.
std::vector<std::uint64_t> threads_complete_since(const session::ProcessRecord& record);

// Numbers a process's stream operations in the order in which the process issued them, including captured ones.
class IssueOrder {
 public:
  explicit IssueOrder(const session::ProcessRecord& record);
  // Returns how many operations were issued up to and including this one; nullopt if lost records make that unknown.
  std::optional<std::uint64_t> ordinal(const session::Operation& operation) const;

 private:
  std::vector<std::uint64_t> ticks_;  // of the recorded ones, ascending
  std::uint64_t complete_since_;
  std::uint64_t lost_ = 0;  // how many were issued before the horizon, from the counts of the sites
  bool countable_ = false;
};

}  // namespace cudadiag::analyse
