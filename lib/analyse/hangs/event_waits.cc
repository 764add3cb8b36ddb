#include "analyse/hangs/event_waits.h"

#include <algorithm>

namespace cudadiag::analyse {
namespace {

using session::Operation;

// Returns the event waits at which streams may still be blocked, oldest first. A wait depends only on earlier
// operations, so one pass in this order follows every chain of waits.
std::vector<const Operation*> open_waits(const std::vector<StreamHistory>& histories) {
  std::vector<const Operation*> waits;
  for (const auto& history : histories) {
    for (const Operation* operation : history.operations) {
      const bool open = operation->kind == wire::operation::Kind::event_wait && operation->ordinal > history.completed;
      const bool certain = was_queued(*operation) && !(operation->flags & wire::operation::kContended);
      if (open && certain) waits.push_back(operation);
    }
  }
  std::sort(waits.begin(), waits.end(), [](const Operation* a, const Operation* b) { return a->ticks < b->ticks; });
  return waits;
}

std::vector<std::uint32_t> first_that_can_fault(const std::vector<StreamHistory>& histories,
                                                const std::vector<Window>& windows) {
  std::vector<std::uint32_t> first(histories.size(), StreamStart::kNever);
  for (std::size_t i = 0; i < histories.size(); ++i) {
    for (const Operation* operation : windows[i].of(histories[i])) {
      if (wire::operation::can_fault(operation->kind)) first[i] = std::min(first[i], operation->ordinal);
    }
  }
  return first;
}

}  // namespace

std::vector<StreamStart> stream_starts(const std::vector<StreamHistory>& histories, const std::vector<Window>& windows,
                                       const EventLog& events) {
  std::vector<StreamStart> starts(histories.size());
  const auto first_suspect = first_that_can_fault(histories, windows);
  for (const Operation* wait : open_waits(histories)) {
    const Operation* recorded = events.recorded(*wait);
    if (recorded == nullptr || recorded->stream == wait->stream) continue;
    if (recorded->flags & wire::operation::kContended) continue;
    const std::size_t other = recorded->stream;

    StreamStart& start = starts[wait->stream];
    // An unwritten marker proves that the event is pending only if the marker was queued before the event was recorded.
    // A later marker may have been queued long afterwards.
    const bool behind_unwritten_marker = windows[other].bounded && windows[other].bound < recorded->ordinal;
    if (behind_unwritten_marker || recorded->ordinal > starts[other].blocked_after) {
      start.blocked_after = std::min(start.blocked_after, wait->ordinal);
    }
    if (first_suspect[other] < recorded->ordinal || recorded->ordinal > starts[other].unsure_after) {
      start.unsure_after = std::min(start.unsure_after, wait->ordinal);
    }
  }
  return starts;
}

}  // namespace cudadiag::analyse
