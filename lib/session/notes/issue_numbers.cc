#include "session/notes/issue_numbers.h"

#include <algorithm>

namespace cudadiag::session {

using wire::operation::Kind;

void IssueNumbers::count(Kind kind, std::uint64_t ticks) {
  const bool there = (at_ == operations_.size() || operations_[at_].ticks >= ticks) &&
                     (at_ == 0 || operations_[at_ - 1].ticks < ticks);
  if (!there) {
    const auto next = std::lower_bound(operations_.begin(), operations_.end(), ticks,
                                       [](const Operation& operation, std::uint64_t t) { return operation.ticks < t; });
    at_ = static_cast<std::size_t>(next - operations_.begin());
  }
  counts_[at_].operations += wire::operation::has_ordinal(kind);
  counts_[at_].kernels += kind == Kind::kernel;
  counts_[at_].graphs += kind == Kind::graph;
}

void IssueNumbers::write(std::uint64_t issued, std::uint64_t since) {
  std::uint64_t counted = 0;
  for (const Counts& counts : counts_) counted += counts.operations;
  if (since == 0) issued = counted;
  if (issued < counted) return;
  Counts so_far;
  so_far.operations = issued - counted;
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    so_far.operations += counts_[i].operations;
    so_far.kernels += counts_[i].kernels;
    so_far.graphs += counts_[i].graphs;
    Operation& operation = operations_[i];
    if (operation.ticks < since) continue;
    operation.issued = so_far.operations;
    if (since == 0 && operation.kind == Kind::kernel && so_far.graphs == 0) operation.kernels = so_far.kernels;
  }
}

}  // namespace cudadiag::session
