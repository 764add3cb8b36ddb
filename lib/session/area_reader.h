// Decodes one process's area, from a file of a session or from the mapping of a running process: as a whole, its intern
// heap alone, or single records.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "session/process_record.h"
#include "wire/area.h"
#include "wire/clock.h"

namespace cudadiag::session {

// ---- a checked view of an area; no other code of the session reader computes wire offsets

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

// ---- decoded records

// If the bytes are not an area (wrong magic, different version, too short), `error` is a message for the user. If only
// parts of an area are damaged, `record` counts the damaged parts instead.
struct AreaContents {
  ProcessRecord record;
  std::string error;
};

std::string not_an_area(std::span<const std::byte> area);

// If the process is live, `area` may change while it is read, and torn records are dropped. In this case, pass the
// current time as `now`, because the area has no last clock reading yet.
AreaContents read_area(std::span<const std::byte> area, std::optional<wire::ClockReading> now = {});

// Copies strings of the intern heap into a record. Each reference to a string needs a copy. A hostile heap could refer
// to one long string a million times, so the copies have a limited total size. Copies beyond this limit are omitted and
// counted.
class InternStrings {
 public:
  void add(std::string text) { strings_.push_back(std::move(text)); }
  // Copies string `id` into `out`. Returns false if it does not exist; id 0 never exists.
  bool copy(std::uint32_t id, std::string& out);

 private:
  static constexpr std::size_t kBudget = 256u << 20;
  std::vector<std::string> strings_;
  std::size_t copied_ = 0;
};

// Fills these members of `record` from a heap: the functions, modules, codes, stacks, sites, graphs, notes and
// properties, and `damaged`. Returns the strings of the heap.
InternStrings read_intern_heap(std::span<const std::byte> heap, ProcessRecord& record);

inline wire::operation::Kind kind_of(const std::byte* record) {
  return static_cast<wire::operation::Kind>(wire::load(record, wire::operation::kKind));
}

// `record` has wire::area::kOperationSize bytes. `process` must already have its threads, streams and interned tables.
// Returns nullopt if the record is invalid or not an operation of this process.
std::optional<Operation> decode_operation(const std::byte* record, std::uint64_t serial, const ProcessRecord& process);

// Reads the calls that returned an error (wire/error.h). Fills `record.errors` in the order of the calls, and finds the
// call that caused the freeze. `frozen_slot` is 1 + the index of that call in the area, or 0 if there is none.
void read_failed_calls(const AreaRegions& regions, InternStrings& strings, std::uint32_t frozen_slot,
                       ProcessRecord& record);

// Reads NCCL's communicators and the calls on them (wire/collective.h). Fills `communicators`, `collectives` and
// `collectives_called` of `record`. The sites and threads of `record` must be filled first. If the process has not used
// NCCL, the regions are holes in the file. They are then not read, because reading holes allocates memory.
void read_collectives(std::span<const std::byte> area, const AreaRegions& regions, ProcessRecord& record);

// Removes from the streams of `record` the ordinals of operations that the GPU cannot have received: at most one per
// call in flight. A thread takes its operation's ordinal, then writes the record, and then calls the driver. An ordinal
// without a record thus belongs to an operation that was not queued yet, if a call was in flight. `in_flight` is the
// number of threads inside a call, per stream.
void leave_out_unqueued(ProcessRecord& record, std::span<const std::uint32_t> in_flight);

// Reads the parameters of recent launches (wire/tables.h): adds those of the kernels in `record.operations` to
// `record.arguments`, if the area still has them. Also adds the contents of copies that may have filled tables of
// addresses.
void read_launch_parameters(const AreaRegions& regions, ProcessRecord& record);

// Returns the bytes of one launch's parameters. `serial` is truncated to 32 bits.
std::string parameter_bytes(const AreaRegions& regions, std::uint32_t thread, std::uint32_t serial);

}  // namespace cudadiag::session
