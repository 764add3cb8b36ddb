// Finds kernels that use bytes outside the memory that their parameters point into.
#include <iterator>

#include "races/feed.h"
#include "races/stored_race.h"
#include "wire/allocation.h"

namespace cudadiag::races {
namespace {

using MemoryKind = wire::allocation::Kind;

constexpr std::size_t kMostOverruns = 256;

// Returns whether the end of the memory is known exactly. The size of memory that is registered, or opened from another
// process, may be rounded up.
bool has_known_end(MemoryKind kind) {
  return kind == MemoryKind::device || kind == MemoryKind::managed || kind == MemoryKind::ordered ||
         kind == MemoryKind::pinned || kind == MemoryKind::mapped;
}

}  // namespace

// Returns whether known memory covers the range. Adjacent mappings count as one piece.
bool Feed::is_covered(std::uint64_t begin, std::uint64_t end) const {
  const Memory* memory = memory_.at(begin);
  while (memory != nullptr && memory->begin + memory->bytes < end) {
    if (memory->kind != MemoryKind::mapped) return false;
    memory = memory_.at(memory->begin + memory->bytes);
  }
  return memory != nullptr;
}

void Feed::note_overrun(const Access& access, std::uint64_t pointer) {
  const Memory* memory = memory_.at(pointer);
  if (gap_until_ != 0 || memory == nullptr || !has_known_end(memory->kind)) return;
  const std::uint64_t end = memory->begin + memory->bytes;
  const bool inside = access.begin >= memory->begin && access.end() <= end;
  const bool meets = access.begin < end && access.end() > memory->begin;
  // If the whole access lies in known memory, it is not an overrun. The parameter is then an end pointer of the
  // preceding block, and equals the beginning of this block only by chance.
  if (inside || !meets || access.end() <= access.begin || is_covered(access.begin, access.end())) return;
  for (session::Overrun& known : overruns_) {
    const session::RaceAccess& its = known.access;
    if (its.site != access.site || its.function != access.function || its.parameter != access.parameter) continue;
    ++known.times;
    return;
  }
  if (overruns_.size() >= kMostOverruns) return;
  overruns_.push_back({0, stored_access(access, order_), memory->begin, memory->bytes, memory->site, 1});
}

}  // namespace cudadiag::races
