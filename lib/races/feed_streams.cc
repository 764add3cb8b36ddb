// Assigns a number to each stream that the records name.
#include "races/feed.h"
#include "wire/area.h"
#include "wire/operation.h"
#include "wire/race_record.h"
#include "wire/stream.h"

namespace cudadiag::races {

namespace area = wire::area;
namespace operation = wire::operation;
namespace race = wire::race;

namespace {

std::uint32_t context_of(const std::byte* stream) { return wire::load(stream, wire::stream::kContext); }

StreamTraits traits_of(std::uint64_t handle, std::uint32_t context, std::uint32_t flags) {
  return {handle, context, (flags & wire::stream::kLegacy) != 0, (flags & wire::stream::kNonBlocking) == 0};
}

}  // namespace

void Feed::begin_life(Known& known, std::uint64_t created, const StreamTraits& traits) {
  if (known.is) order_.stream_gone(known.number);
  known = {created, order_.stream_made(traits), true, true};
}

void Feed::stream_made(const std::byte* record) {
  const auto index = wire::load(record, operation::kStream);
  const std::uint64_t ticks = wire::load(record, operation::kTicks);
  if (index >= known_.size() || (known_[index].is && known_[index].created == ticks)) return;
  begin_life(known_[index], ticks,
             traits_of(wire::load(record, race::kWord0), static_cast<std::uint32_t>(wire::load(record, race::kWord1)),
                       static_cast<std::uint32_t>(wire::load(record, race::kWord2))));
}

// Finds the stream that an entry of the stream table described when the record was written. The entry may have been
// reused since then, and shows only its latest stream. In that case, uses the recorded creations of streams.
bool Feed::find_stream(std::uint32_t index, std::uint64_t ticks, StreamNumber& stream) {
  if (index >= known_.size()) return false;
  Known& known = known_[index];
  const std::byte* entry = streams_.data() + index * area::kStreamSize;
  const std::uint64_t created = wire::load(entry, wire::stream::kCreated);
  const bool same = known.is && created == known.created;
  if (!same && created <= ticks) {
    begin_life(known, created,
               traits_of(wire::load(entry, wire::stream::kHandle), memory_.context_uid(context_of(entry)),
                         wire::load(entry, wire::stream::kFlags)));
  } else if (!same && !known.sure) {
    // The creation record of this operation's stream was lost.
    lost(1, created);
    return false;
  }
  known.sure = true;
  stream = known.number;
  return true;
}

}  // namespace cudadiag::races
