#include "session/notes/forward_search.h"

#include <utility>

namespace cudadiag::session {
namespace {

namespace o = wire::operation;

constexpr std::size_t kMost = 1u << 20;

}  // namespace

ForwardSearch::ForwardSearch(const ProcessRecord& record, const std::vector<std::uint32_t>& completed,
                             std::uint64_t since)
    : since_(since) {
  for (const Operation& operation : record.operations) {
    const Origin& origin = operation.origin;
    const bool numbered = origin.node_thread != 0 && origin.node_thread != o::kManyThreads &&
                          origin.node_thread < threads_.size() && origin.node != o::kUnnumbered;
    if (!numbered || operation.stream >= completed.size() || operation.ordinal <= completed[operation.stream]) continue;
    threads_[origin.node_thread].nodes.insert(origin.node);
    any_ = true;
  }
}

void ForwardSearch::look_at(const LogReader& log) {
  const std::byte* record = log.record();
  Thread& thread = threads_[wire::load(record, o::kOwnThread)];
  if (thread.nodes.empty() || wire::load(record, o::kTicks) < since_) return;
  const std::uint32_t number = wire::load(record, o::kNumber);
  if (found_.size() < kMost && thread.nodes.contains(number - 1)) found_.push_back(log.current());
  // Compares the numbers by their signed difference, because they wrap around.
  const bool before = static_cast<std::int32_t>(number - *thread.nodes.begin()) <= 0;
  if (before || log.serial() == 1) thread.before = log.current();
}

std::vector<LoggedRecord> ForwardSearch::found() && {
  if (found_.size() >= kMost) return {};
  for (const Thread& thread : threads_) {
    if (thread.before) found_.push_back(*thread.before);
  }
  return std::move(found_);
}

}  // namespace cudadiag::session
