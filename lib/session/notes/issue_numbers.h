// Numbers operations with the help of a full log. The number of an operation is how many operations its process had
// issued up to and including this operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "session/process_record.h"

namespace cudadiag::session {

class IssueNumbers {
 public:
  // `operations` are the operations to number, sorted by ticks.
  explicit IssueNumbers(std::vector<Operation>& operations) : operations_(operations), counts_(operations.size() + 1) {}

  // Call this once for each operation of the process, including those to number. Calls in roughly ascending order are
  // cheap.
  void count(wire::operation::Kind kind, std::uint64_t ticks);
  // `issued` is the number of operations of the whole process. No operation at or after `since` (ticks) is missing.
  // `since` is 0 if no operation is missing at all.
  void write(std::uint64_t issued, std::uint64_t since);

 private:
  struct Counts {
    std::uint64_t operations = 0, kernels = 0, graphs = 0;
  };
  std::vector<Operation>& operations_;
  std::vector<Counts> counts_;  // number issued from the previous operation to this one; last: after all of them
  std::size_t at_ = 0;
};

}  // namespace cudadiag::session
