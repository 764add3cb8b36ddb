#include "session/area/unqueued_operations.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <vector>

namespace cudadiag::session {

namespace {

// The recorded operations of one stream.
struct Recorded {
  std::set<std::uint32_t> unfinished;
  std::uint32_t open = 0;  // calls in flight that have a record
  // The newest operation that was issued while no other thread was inside a call on the stream. All earlier calls on
  // the stream had returned by then.
  std::uint32_t alone = 0;
};

// Operations up to the latest marker were queued, and so were operations up to `alone`. If one of them has no record,
// the record was lost.
void leave_out(Stream& stream, const Recorded& recorded, std::uint32_t in_flight) {
  const std::uint32_t returned = std::max({stream.completed(), stream.marker_issued, recorded.alone});
  const std::uint32_t newest = std::max(returned, recorded.unfinished.empty() ? 0 : *recorded.unfinished.rbegin());
  if (stream.issued > newest && stream.issued - newest <= in_flight) {
    in_flight -= stream.issued - newest;
    stream.issued = newest;
  }
  if (stream.issued <= returned) return;
  auto next = recorded.unfinished.upper_bound(returned);
  const auto end = recorded.unfinished.upper_bound(stream.issued);
  if (stream.issued - returned - static_cast<std::uint32_t>(std::distance(next, end)) > in_flight) return;
  for (std::uint32_t ordinal = returned; ordinal != stream.issued;) {
    ++ordinal;
    if (next != end && *next == ordinal) {
      ++next;
    } else {
      stream.not_given.push_back(ordinal);
    }
  }
}

}  // namespace

void leave_out_unqueued(ProcessRecord& record, std::span<const std::uint32_t> in_flight) {
  std::vector<Recorded> recorded(record.streams.size());
  for (const Operation& operation : record.operations) {
    if (operation.stream >= recorded.size() || operation.ordinal == 0 || in_flight[operation.stream] == 0) continue;
    Recorded& of_stream = recorded[operation.stream];
    if ((operation.flags & wire::operation::kReturned) == 0) ++of_stream.open;
    if ((operation.flags & wire::operation::kContended) == 0) {
      of_stream.alone = std::max(of_stream.alone, operation.ordinal);
    }
    const bool unfinished = operation.ordinal > record.streams[operation.stream].completed();
    if (unfinished) of_stream.unfinished.insert(operation.ordinal);
  }
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    const std::uint32_t threads = std::min(in_flight[i], static_cast<std::uint32_t>(record.threads.size()));
    if (threads > recorded[i].open) leave_out(record.streams[i], recorded[i], threads - recorded[i].open);
  }
}

}  // namespace cudadiag::session
