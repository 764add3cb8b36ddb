// Handles copies whose source the recorder watches, and the changes that the recorder saw in a source.
#include <algorithm>
#include <utility>

#include "races/feed.h"
#include "wire/operation.h"
#include "wire/race_record.h"

namespace cudadiag::races {

namespace race = wire::race;
using Memories = wire::allocation::Kind;

bool Feed::is_of_host(std::uint64_t address) const {
  const Memory* memory = memory_.at(address);
  return memory != nullptr && (memory->kind == Memories::pinned || memory->kind == Memories::registered ||
                               memory->kind == Memories::managed);
}

// Call this before adding the copy's own accesses.
void Feed::watch_sources(const Access& copy, const std::vector<Part>& parts, std::uint64_t number) {
  if (gap_until_ != 0) return;
  HostWrites::Watched watched;
  watched.number = number;
  for (const Part& part : parts) {
    if (!is_of_host(part.source)) continue;
    const Rows& rows = part.rows;
    const Access source =
        with_place(copy, part.source, {rows.source_pitch, part.bytes, rows.width, rows.rows}, Mode::read);
    const Memory* memory = memory_.at(part.source);
    history_.each_writer(source, memory->begin, memory->begin + memory->bytes, [&](const Access& writer) {
      (order_.before(writer, copy.stream) ? watched.written_before : watched.written_beside) = true;
    });
    watched.sources.push_back(source);
  }
  if (watched.sources.empty()) return;
  watched.copy = watched.sources.front();
  std::uint64_t end = 0;
  for (const Access& source : watched.sources) {
    watched.copy.begin = std::min(watched.copy.begin, source.begin);
    end = std::max(end, source.end());
  }
  watched.copy.rows = 1;
  watched.copy.pitch = 0;
  watched.copy.width = end - watched.copy.begin;
  host_writes_.watch(std::move(watched));
}

void Feed::source_changed(const std::byte* record) {
  const std::uint16_t what = wire::load(record, race::kOffset0);
  const std::uint64_t begin = wire::load(record, race::kWord1), end = wire::load(record, race::kWord2);
  if (end <= begin || gap_until_ != 0) return;
  const HostWrites::Change change = {wire::load(record, race::kWord0),
                                     begin,
                                     end,
                                     std::min(wire::load(record, race::kWord3), end - begin),
                                     (what & race::kWhileHeld) != 0,
                                     (what & race::kSampled) != 0};
  if (!host_writes_.changed(change)) return;
  const Memory* memory = memory_.at(begin);
  host_homes_.push_back(memory == nullptr ? Memory{} : *memory);
}

}  // namespace cudadiag::races
