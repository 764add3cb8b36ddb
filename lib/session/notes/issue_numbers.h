// Numbers operations by how many their process had issued up to each, from a full log that counts them all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "session/process_record.h"

namespace cudadiag::session {

class IssueNumbers {
 public:
  // `operations`: those that get numbers, by ticks.
  explicit IssueNumbers(std::vector<Operation>& operations) : operations_(operations), counts_(operations.size() + 1) {}

  // Each operation of the process once, those with numbers too; cheap if they come nearly in order.
  void count(wire::operation::Kind kind, std::uint64_t ticks);
  // `issued`: by the whole process. Nothing is missing from these ticks on, 0: at all.
  void write(std::uint64_t issued, std::uint64_t since);

 private:
  struct Counts {
    std::uint64_t operations = 0, kernels = 0, graphs = 0;
  };
  std::vector<Operation>& operations_;
  std::vector<Counts> counts_;  // after the operation before, up to that one; the last entry follows all operations
  std::size_t at_ = 0;
};

}  // namespace cudadiag::session
