#include "analyse/candidate_window.h"

#include <algorithm>

namespace cudadiag::analyse {
namespace {

using session::Operation;
using Operations = std::vector<const Operation*>;

std::size_t first_after(const Operations& operations, std::uint32_t ordinal) {
  const auto found =
      std::upper_bound(operations.begin(), operations.end(), ordinal,
                       [](std::uint32_t wanted, const Operation* operation) { return wanted < operation->ordinal; });
  return static_cast<std::size_t>(found - operations.begin());
}

// Where the window ends: the first marker that was queued but not written.
struct Bound {
  std::uint32_t ordinal = 0;  // the last operation that the marker covers; 0 if none is known to have been queued
  bool certain = false;       // the marker is directly after this operation; otherwise operations may lie in between
  std::uint32_t by = kAnyCall;
};

Bound first_unwritten_marker(const StreamHistory& history, std::size_t begin) {
  const std::uint32_t newest = history.stream->marker_issued > history.completed ? history.stream->marker_issued : 0;
  for (std::size_t i = begin; i < history.operations.size(); ++i) {
    const Operation& operation = *history.operations[i];
    if (newest != 0 && operation.ordinal > newest + 1) break;
    // A marker directly before the first unfinished operation covers only finished operations, so it cannot end the
    // window.
    const bool covers_unfinished = operation.ordinal > history.completed + 1;
    if (operation.flags & wire::operation::kMarkedBefore && covers_unfinished)
      return {operation.ordinal - 1, true, operation.ordinal};
    if (newest != 0 && operation.ordinal > newest) break;
    if (operation.flags & wire::operation::kMarked) return {operation.ordinal, true, operation.ordinal};
  }
  return {newest, false, kAnyCall};
}

bool contended_neighbours(const Operation& a, const Operation& b) {
  return (a.flags & b.flags & wire::operation::kContended) && b.ordinal - a.ordinal <= 1;
}

// Returns whether `next` may have been queued before the marker that follows `last`.
bool came_meanwhile(const Operation& last, const Operation& next) {
  return (next.flags & wire::operation::kContended) && next.ordinal - last.ordinal <= 1;
}

// Widens the window if several threads issued on the stream at the same time. Their operations may have been queued in
// a different order than their ordinals suggest.
void widen_by_contention(const Operations& operations, Window& window, bool certain) {
  if (window.begin == window.end) return;
  while (window.begin > 0 && contended_neighbours(*operations[window.begin - 1], *operations[window.begin])) {
    --window.begin;
  }
  const auto beside = certain ? contended_neighbours : came_meanwhile;
  while (window.end < operations.size() && beside(*operations[window.end - 1], *operations[window.end])) ++window.end;
}

}  // namespace

Window candidate_window(const StreamHistory& history) {
  Window window;
  window.begin = first_after(history.operations, history.completed);
  const auto [marker, certain, marked_by] = first_unwritten_marker(history, window.begin);
  window.bounded = marker != 0;
  window.end = window.bounded ? first_after(history.operations, marker) : history.operations.size();

  const std::uint32_t last = window.bounded ? marker : history.stream->issued;
  const std::uint32_t expected = history.stream->given_between(history.completed, last);
  const auto present = static_cast<std::uint32_t>(window.end - window.begin);
  window.missing = expected > present ? expected - present : 0;
  const auto given_before = [&](const Operation& operation) {
    return operation.ordinal > 0 ? history.stream->given_between(history.completed, operation.ordinal - 1) : 0;
  };
  window.lost_first = expected > 0 && (present == 0 || given_before(*history.operations[window.begin]) > 0);

  widen_by_contention(history.operations, window, certain);
  window.bound =
      window.bounded && window.end > 0 ? std::max(marker, history.operations[window.end - 1]->ordinal) : marker;
  window.marked_by = std::max(window.bound, marked_by);
  return window;
}

}  // namespace cudadiag::analyse
