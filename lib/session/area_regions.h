// A checked view of an area. No other code of the session reader computes wire offsets.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "wire/area.h"

namespace cudadiag::session {

// Limits on table sizes that no recorder exceeds. Larger tables are truncated.
inline constexpr std::size_t kMostThreads = 8192;
inline constexpr std::size_t kMostStreams = 65536;

// A snapshot of a record, aligned so that every wire field can be loaded from it.
template <std::size_t Size>
struct RecordCopy {
  alignas(8) std::array<std::byte, Size> bytes{};
  const std::byte* data() const { return bytes.data(); }
};

// Copies one aligned word at a time, in order. No field is torn, because the writer stores each field with a single
// instruction. If the copy contains the field that the writer stored last (release), all words copied after that field
// are complete.
template <std::size_t Size>
RecordCopy<Size> copy_record(const std::byte* record) {
  static_assert(Size % 8 == 0);
  RecordCopy<Size> copy;
  for (std::size_t at = 0; at < Size; at += 8) {
    auto* word = reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(record) + at);
    const std::uint64_t value = std::atomic_ref<std::uint64_t>(*word).load(std::memory_order_acquire);
    std::memcpy(copy.bytes.data() + at, &value, sizeof value);
  }
  return copy;
}

// Copies a record that begins with a serial. The writer of the record clears the serial first and stores it last.
// Returns nullopt if the record is empty or was being written during the copy.
template <std::size_t Size, typename Serial = std::uint64_t>
std::optional<RecordCopy<Size>> copy_serialised(const std::byte* record) {
  const wire::Field<Serial, 0> serial;
  const Serial before = wire::load_acquire(record, serial);
  if (before == 0) return std::nullopt;
  RecordCopy<Size> copy = copy_record<Size>(record);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (wire::load_acquire(record, serial) != before) return std::nullopt;
  wire::store(copy.bytes.data(), serial, before);
  return copy;
}

// The regions of an area. Each one lies inside the area and is 8-byte aligned. A region with an invalid entry in the
// region table is empty.
class AreaRegions {
 public:
  explicit AreaRegions(std::span<const std::byte> area) {
    const std::uint32_t page = wire::load(area.data(), wire::area::kMarkerPage);
    if (page % wire::area::kMarkerSize == 0) marker_page_ = std::max<std::size_t>(page, marker_page_);
    markers_private_ = wire::load_acquire(area.data(), wire::area::kMarkersPrivate) != 0;
    for (std::size_t i = 0; i < wire::area::kRegions; ++i) {
      const std::byte* entry = area.data() + wire::area::kRegionTable + 16 * i;
      const std::uint64_t offset = wire::load(entry, wire::area::kRegionOffset);
      const std::uint64_t size = wire::load(entry, wire::area::kRegionBytes);
      if (offset > area.size() || offset % 8 != 0) {
        ++damaged_;
        continue;
      }
      const std::uint64_t fits = std::min<std::uint64_t>(size, area.size() - offset);
      if (fits < size) ++damaged_;
      regions_[i] = area.subspan(offset, fits / 8 * 8);
    }
  }

  std::span<const std::byte> region(wire::area::Region which) const {
    return regions_[static_cast<std::size_t>(which)];
  }
  std::uint64_t damaged() const { return damaged_; }

  // Returns the number of records of `size` bytes in a region, but at most `most`. Without this limit, a hostile table
  // could make us allocate too much.
  std::size_t count(wire::area::Region which, std::size_t size, std::size_t most) const {
    return std::min(region(which).size() / size, most);
  }

  // Returns null if the stream's marker cannot be read before the freeze.
  const std::byte* marker(std::size_t stream) const {
    if (markers_private_) return nullptr;
    const std::span<const std::byte> markers = region(wire::area::Region::markers);
    const std::size_t place = wire::area::marker_place(stream, marker_page_);
    return place + wire::area::kMarkerSize <= markers.size() ? markers.data() + place : nullptr;
  }

 private:
  bool markers_private_ = false;
  std::size_t marker_page_ = wire::area::kSmallestMarkerPage;
  std::array<std::span<const std::byte>, wire::area::kRegions> regions_{};
  std::uint64_t damaged_ = 0;
};

}  // namespace cudadiag::session
