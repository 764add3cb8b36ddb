// Handles records of allocations and frees.
#include "races/feed.h"
#include "wire/allocation.h"
#include "wire/operation.h"
#include "wire/race_record.h"

namespace cudadiag::races {

namespace operation = wire::operation;
namespace race = wire::race;

void Feed::memory_made(const std::byte* record, bool has_stream, StreamNumber stream) {
  const std::uint64_t begin = wire::load(record, race::kWord0), bytes = wire::load(record, race::kWord1);
  if (bytes == 0 || begin + bytes < begin) return;
  const auto kind = static_cast<wire::allocation::Kind>(wire::load(record, race::kWord2));
  memory_.made({begin, bytes, wire::load(record, operation::kSite), kind},
               static_cast<std::uint32_t>(wire::load(record, race::kWord3)));
  history_.forget(begin, bytes);
  if (!has_stream) return;
  Access access;
  access.at = order_.issue(stream);
  access.stream = stream;
  access.site = wire::load(record, operation::kSite);
  access.what = What::allocation;
  access.begin = begin;
  access.width = bytes;
  access.mode = Mode::write;
  access.exact = true;
  add(access);
}

void Feed::memory_freed(const std::byte* record, bool has_stream, StreamNumber stream) {
  const std::uint64_t begin = wire::load(record, race::kWord0);
  const Memory* freed = memory_.that_begins_at(begin);
  if (has_stream && freed != nullptr) {
    Access access;
    access.at = order_.issue(stream);
    access.stream = stream;
    access.site = wire::load(record, operation::kSite);
    access.what = What::free;
    access.begin = begin;
    access.width = freed->bytes;
    access.mode = Mode::write;
    access.exact = true;
    add(access);
    // Keeps what is known about the memory until its addresses are reused, because other streams may still use the
    // memory.
    return;
  }
  // Freeing stream-ordered memory does not make the driver wait.
  const bool ordered = freed != nullptr && freed->kind == wire::allocation::Kind::ordered;
  if (wire::load(record, race::kWord2) != 0 && !ordered) {
    order_.context_seen(memory_.context_uid(static_cast<std::uint32_t>(wire::load(record, race::kWord1))));
  }
  if (freed == nullptr) return;
  history_.forget(begin, freed->bytes);
  memory_.freed(begin);
}

}  // namespace cudadiag::races
