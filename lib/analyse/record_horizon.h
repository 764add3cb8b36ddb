// How much of a process's history its rings still contain. A ring keeps a thread's latest records. Older records are
// gone, except those kept as unfinished operations. No conclusion may depend on their absence.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "session/process_record.h"

namespace cudadiag::analyse {

// Returns the tick from which on no record of any thread is missing. Returns 0 if none is missing at all, and the
// highest number if even the newest ones are.
std::uint64_t complete_since(const session::ProcessRecord& record);
// The same for each thread alone, by index.
std::vector<std::uint64_t> threads_complete_since(const session::ProcessRecord& record);

// Counts a process's stream operations in the order in which it issued them, including captured ones.
class IssueOrder {
 public:
  explicit IssueOrder(const session::ProcessRecord& record);
  // The number of operations issued up to and including this one; nullopt if lost records make that unknown.
  std::optional<std::uint64_t> ordinal(const session::Operation& operation) const;

 private:
  std::vector<std::uint64_t> ticks_;  // of the recorded ones, ascending
  std::uint64_t complete_since_;
  std::uint64_t lost_ = 0;  // number issued before the horizon, from the sites' counts
  bool countable_ = false;
};

}  // namespace cudadiag::analyse
