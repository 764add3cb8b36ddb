// Searches a full log for the forward launches of autograd nodes (wire/operation.h). The nodes are those whose backward
// functions were running when the process stopped.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "session/log/log_reader.h"
#include "session/process_record.h"

namespace cudadiag::session {

class ForwardSearch {
 public:
  // For each stream, `completed` contains the ordinal of the last operation that is known to have finished. Ignores
  // records older than `since`.
  ForwardSearch(const ProcessRecord& record, const std::vector<std::uint32_t>& completed, std::uint64_t since);

  bool any() const { return any_; }
  // Call this for each record of the log, right after reading it.
  void look_at(const LogReader& log);
  // Returns the launches. For each thread, also returns one older record, which shows that no earlier launch belongs to
  // these nodes. Returns an empty list if there are too many launches, because an incomplete list is misleading.
  std::vector<LoggedRecord> found() &&;

 private:
  struct Thread {
    std::set<std::uint32_t> nodes;
    std::optional<LoggedRecord> before;
  };
  std::array<Thread, 256> threads_;  // by PyTorch's thread number
  std::uint64_t since_;
  bool any_ = false;
  std::vector<LoggedRecord> found_;
};

}  // namespace cudadiag::session
