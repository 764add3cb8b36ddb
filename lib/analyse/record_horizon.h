// How much of a process's history its rings still hold. A ring keeps a thread's latest records; what is older
// and was not kept as unfinished is gone, and no conclusion may rest on its absence.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "session/process_record.h"

namespace cudadiag::analyse {

// From this tick on no record of any thread is missing; 0 if none is missing, the highest number if even newest ones
// are missing.
std::uint64_t complete_since(const session::ProcessRecord& record);
// The same of each thread alone, by index.
std::vector<std::uint64_t> threads_complete_since(const session::ProcessRecord& record);

// Counts a process's stream operations in the order in which it issued them, captured ones included.
class IssueOrder {
 public:
  explicit IssueOrder(const session::ProcessRecord& record);
  // How many the process had issued up to and including this one; nothing if lost records leave that open.
  std::optional<std::uint64_t> ordinal(const session::Operation& operation) const;

 private:
  std::vector<std::uint64_t> ticks_;  // of the visible ones, ascending
  std::uint64_t complete_since_;
  std::uint64_t lost_ = 0;  // issued before the horizon, by the sites' counts
  bool countable_ = false;
};

}  // namespace cudadiag::analyse
