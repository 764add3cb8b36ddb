#include "analyse/record_horizon.h"

#include <algorithm>
#include <limits>

namespace cudadiag::analyse {
namespace {

using session::Operation;
using session::ProcessRecord;

// Returns the earliest tick after which the thread's records have consecutive serials, so none is missing. If the
// thread took over the ring of an earlier thread, serials restart at 1. A lower serial with a later tick therefore
// belongs to another thread, and the search ends there.
std::uint64_t thread_complete_since(std::vector<const Operation*>& records, std::uint64_t published) {
  constexpr auto kNothing = std::numeric_limits<std::uint64_t>::max();
  if (records.empty()) return published == 0 ? 0 : kNothing;
  // The records are usually in ascending order of serial, so reversing them puts the newest first.
  const auto newer = [](const auto* a, const auto* b) { return a->serial > b->serial; };
  std::reverse(records.begin(), records.end());
  if (!std::is_sorted(records.begin(), records.end(), newer)) std::sort(records.begin(), records.end(), newer);
  if (records.front()->serial < published) return kNothing;
  const Operation* oldest = records.front();
  for (const Operation* next : records) {
    if (next->serial == oldest->serial) continue;
    if (next->serial + 1 != oldest->serial || next->ticks > oldest->ticks) return oldest->ticks;
    oldest = next;
  }
  return oldest->serial == 1 ? 0 : oldest->ticks;
}

}  // namespace

std::vector<std::uint64_t> threads_complete_since(const ProcessRecord& record) {
  std::vector<std::vector<const Operation*>> by_thread(record.threads.size());
  for (const auto& operation : record.operations) {
    if (operation.thread < by_thread.size()) by_thread[operation.thread].push_back(&operation);
  }
  std::vector<std::uint64_t> since;
  for (std::size_t i = 0; i < by_thread.size(); ++i) {
    since.push_back(thread_complete_since(by_thread[i], record.threads[i].published));
  }
  return since;
}

std::uint64_t complete_since(const ProcessRecord& record) {
  const std::vector<std::uint64_t> threads = threads_complete_since(record);
  return threads.empty() ? 0 : *std::max_element(threads.begin(), threads.end());
}

IssueOrder::IssueOrder(const ProcessRecord& record) : complete_since_(complete_since(record)) {
  for (const auto& operation : record.operations) {
    if (wire::operation::has_ordinal(operation.kind)) ticks_.push_back(operation.ticks);
  }
  std::sort(ticks_.begin(), ticks_.end());
  if (record.dropped_operations > 0) return;
  if (complete_since_ == 0) {
    countable_ = true;
    return;
  }
  std::uint64_t issued = 0;
  for (const auto& thread : record.threads) issued += thread.operations;
  countable_ = issued >= ticks_.size();
  lost_ = countable_ ? issued - ticks_.size() : 0;
}

std::optional<std::uint64_t> IssueOrder::ordinal(const Operation& operation) const {
  if (operation.issued != 0) return operation.issued;
  if (!countable_ || operation.ticks < complete_since_) return std::nullopt;
  const auto after = std::upper_bound(ticks_.begin(), ticks_.end(), operation.ticks);
  return lost_ + static_cast<std::uint64_t>(after - ticks_.begin());
}

}  // namespace cudadiag::analyse
