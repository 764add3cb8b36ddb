// Searches a full log for what PyTorch launched forward with the numbers of nodes that were being run backwards when
// the process stopped (wire/operation.h).
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
  // `completed`: by stream, the last operation that is known to have finished. Records older than `since` are left out.
  ForwardSearch(const ProcessRecord& record, const std::vector<std::uint32_t>& completed, std::uint64_t since);

  bool any() const { return any_; }
  // Call it for each record that the reading of the log has reached.
  void look_at(const LogReader& log);
  // Includes a record of each thread which shows that nothing of the nodes is older. Empty if there are too many,
  // because a part of them would not be an answer.
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
