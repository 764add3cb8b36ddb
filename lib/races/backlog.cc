#include "races/backlog.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "session/area_reader.h"
#include "session/area_regions.h"
#include "wire/area.h"
#include "wire/operation.h"

namespace cudadiag::races {

namespace operation = wire::operation;
using operation::Kind;

Backlog::Backlog(std::span<const std::byte> area, Feed& feed, IsRead is_read)
    : area_(area), feed_(feed), is_read_(std::move(is_read)) {}

// Copies the parameters immediately, because the area keeps only the latest ones of each thread.
void Backlog::record(const std::byte* record) {
  const auto kind = static_cast<Kind>(wire::load(record, operation::kKind));
  newest_ = std::max(newest_, wire::load(record, operation::kTicks));
  Held held;
  if (kind == Kind::kernel && (wire::load(record, operation::kFlags) & operation::kCaptured) == 0) {
    held.parameters = session::parameter_bytes(session::AreaRegions(area_), wire::load(record, operation::kThread),
                                               wire::load(record, operation::kSerial));
  }
  if (kind == Kind::parameters) held.kernel = wire::load(record, operation::kSite);
  const bool waits = held.kernel != 0 && !is_read_(held.kernel);
  if (held_.empty() && !waits) return feed_.record(record, held.parameters);
  std::memcpy(held.record.data(), record, held.record.size());
  if (!waits) held.kernel = 0;
  held.since = std::chrono::steady_clock::now();
  held_.push_back(std::move(held));
  if (held_.size() > kMost) hand_on_all();
}

void Backlog::lost(std::uint64_t count, std::uint64_t until) {
  if (held_.empty()) return feed_.lost(count, until);
  Held held;
  held.lost = count;
  held.until = until;
  held_.push_back(std::move(held));
}

void Backlog::look_for_drops() {
  const std::uint64_t drops = wire::load_acquire(area_.data(), wire::area::kDroppedOperations) +
                              wire::load_acquire(area_.data(), wire::area::kDroppedStreams);
  if (drops == drops_) return;
  lost(drops - drops_, newest_ + 1);
  drops_ = drops;
}

void Backlog::hand_on(const Held& held) {
  if (held.lost != 0) return feed_.lost(held.lost, held.until);
  feed_.record(held.record.data(), held.parameters);
}

void Backlog::hand_on() {
  while (!held_.empty()) {
    const Held& next = held_.front();
    const bool waits = next.kernel != 0 && !is_read_(next.kernel);
    if (waits && std::chrono::steady_clock::now() - next.since < kPatience) return;
    hand_on(next);
    held_.pop_front();
  }
}

void Backlog::hand_on_all() {
  for (; !held_.empty(); held_.pop_front()) hand_on(held_.front());
}

}  // namespace cudadiag::races
