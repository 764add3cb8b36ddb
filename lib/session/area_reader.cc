#include "session/area_reader.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <tuple>
#include <utility>

namespace cudadiag::session {
namespace {

using wire::area::Region;

// Limits that no recorder exceeds. A larger table is truncated.
constexpr std::size_t kMostContexts = 8192;
constexpr std::size_t kMostGraphWords = 1u << 20;
constexpr std::size_t kMostAllocations = 1u << 20;

// The number of operations for which space is reserved in advance. Without this limit, a damaged area could exhaust the
// memory.
constexpr std::size_t kMostReserved = 1u << 16;

using OperationKey = std::pair<std::uint16_t, std::uint64_t>;  // thread and serial

auto copy_operation(const std::byte* record) {
  return copy_serialised<wire::area::kOperationSize, decltype(wire::operation::kSerial)::type>(record);
}

class AreaReader {
 public:
  AreaReader(std::span<const std::byte> area, std::optional<wire::ClockReading> now)
      : area_(area), regions_(area), now_(now) {}

  ProcessRecord read() {
    record_.damaged += regions_.damaged();
    read_header();
    // Reads the heap after the frozen state but before anything that refers to the heap. An id past the end of the heap
    // then means that the writer has added entries since.
    const std::uint64_t used = wire::load_acquire(area_.data(), wire::area::kInternUsed);
    auto heap = regions_.region(Region::intern);
    if (used > heap.size()) ++record_.damaged;
    strings_ = read_intern_heap(heap.first(std::min<std::uint64_t>(used, heap.size())), record_);
    read_threads();
    read_contexts();
    read_streams();
    check_blocked();
    read_operations();
    read_launch_parameters(regions_, record_);
    leave_out_unqueued(record_, in_flight_);
    read_failed_calls(regions_, strings_, frozen_slot_, record_);
    read_allocations();
    read_site_counts();
    read_collectives(area_, regions_, record_);
    return std::move(record_);
  }

 private:
  template <std::size_t Size>
  const std::byte* at(Region region, std::size_t index) const {
    return regions_.region(region).data() + index * Size;
  }

  void read_header();
  void read_clock();
  void read_threads();
  void read_blocked(const std::byte* entry, Thread& thread);
  void check_blocked();
  void read_contexts();
  void read_streams();
  Stream picture_at_freeze(std::size_t i, Stream stream);
  void read_operations();
  void read_operation(const std::byte* slot, std::size_t thread, std::size_t place, std::size_t capacity);
  void read_held();
  std::uint64_t full_serial(const std::byte* record, std::size_t thread) const;
  std::optional<Operation> decode(const RecordCopy<wire::area::kOperationSize>& copy);
  void add(const Operation& operation);
  void sort_operations();
  void read_graph_words();
  void read_allocations();
  void read_site_counts();

  std::span<const std::byte> area_;
  AreaRegions regions_;
  std::optional<wire::ClockReading> now_;
  ProcessRecord record_;
  std::vector<std::uint32_t> in_flight_;  // by stream: number of threads inside a call on this stream
  InternStrings strings_;
  std::uint32_t frozen_slot_ = 0;  // 1 + index in the region `errors`
};

void AreaReader::read_header() {
  namespace a = wire::area;
  const std::byte* header = area_.data();
  const std::uint32_t state = wire::load_acquire(header, a::kState);
  if (state > static_cast<std::uint32_t>(a::State::disabled)) {
    ++record_.damaged;
  } else {
    record_.state = static_cast<a::State>(state);
  }
  record_.pid = wire::load(header, a::kPid);
  record_.parent_pid = wire::load(header, a::kParentPid);
  record_.start_realtime = wire::load(header, a::kStartRealtime);
  record_.dropped_operations = wire::load_acquire(header, a::kDroppedOperations);
  record_.dropped_sites = wire::load_acquire(header, a::kDroppedSites);
  record_.dropped_interns = wire::load_acquire(header, a::kDroppedInterns);
  record_.dropped_streams = wire::load_acquire(header, a::kDroppedStreams);
  record_.dropped_held = wire::load_acquire(header, a::kDroppedHeld);
  record_.dropped_graphs = wire::load_acquire(header, a::kDroppedGraphs);
  record_.dropped_allocations = wire::load_acquire(header, a::kDroppedAllocations);
  record_.forgotten_allocations = wire::load_acquire(header, a::kForgottenAllocations);
  record_.failed_markers = wire::load_acquire(header, a::kFailedMarkers);
  record_.error_count = wire::load_acquire(header, a::kErrorCount);
  record_.waits = wire::load_acquire(header, a::kWaits);
  record_.earlier_removed = wire::load(header, a::kEarlierRemoved);
  record_.events_unseen = wire::load_acquire(header, a::kEventsUnseen);
  const std::uint32_t status = wire::load_acquire(header, a::kExitStatus);
  if (status != 0) record_.exit_status = static_cast<int>((status - 1) & 0xff);
  if (record_.state == a::State::frozen) {
    frozen_slot_ = wire::load(header, a::kFrozenError);
    record_.frozen_code = wire::load(header, a::kFrozenCode);
    record_.frozen_ticks = wire::load(header, a::kFrozenTicks);
  }
  read_clock();
}

void AreaReader::read_clock() {
  namespace a = wire::area;
  const std::byte* header = area_.data();
  record_.clock_start = wire::load(header, a::kClockTicks);
  std::uint64_t ticks_last = wire::load_acquire(header, a::kClockTicksLast);
  const std::uint64_t start = wire::load(header, a::kClockNanoseconds);
  std::uint64_t last = wire::load_acquire(header, a::kClockNanosecondsLast);
  if (now_ && record_.state == a::State::recording) {
    ticks_last = now_->ticks;
    last = now_->nanoseconds;
  }
  record_.clock_last = ticks_last;
  if (ticks_last <= record_.clock_start || last <= start) return;
  record_.seconds_per_tick =
      static_cast<double>(last - start) * 1e-9 / static_cast<double>(ticks_last - record_.clock_start);
}

void AreaReader::read_threads() {
  namespace t = wire::thread;
  const std::size_t count = regions_.count(Region::threads, wire::area::kThreadSize, kMostThreads);
  record_.threads.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto entry = copy_record<wire::area::kThreadSize>(at<wire::area::kThreadSize>(Region::threads, i));
    Thread& thread = record_.threads[i];
    const std::uint32_t state = wire::load(entry.data(), t::kState);
    if (state > static_cast<std::uint32_t>(t::State::ended)) {
      ++record_.damaged;
      continue;
    }
    thread.state = static_cast<t::State>(state);
    thread.tid = wire::load(entry.data(), t::kTid);
    thread.published = wire::load(entry.data(), t::kPublished);
    thread.operations = wire::load(entry.data(), t::kOperations);
    const std::uint32_t domain = wire::load(entry.data(), t::kCallDomain);
    if (domain <= static_cast<std::uint32_t>(wire::error::Domain::runtime)) {
      thread.call_domain = static_cast<wire::error::Domain>(domain);
    }
    thread.call_id = wire::load(entry.data(), t::kCallId);
    thread.call_ticks = wire::load(entry.data(), t::kCallTicks);
    if (thread.state == t::State::live) thread.python_state = wire::load(entry.data(), t::kPythonState);
    const char* name = reinterpret_cast<const char*>(entry.data() + t::kNameOffset);
    thread.name.assign(name, ::strnlen(name, t::kNameSize));
    record_.operations_issued += thread.published;
    if (thread.call_domain != wire::error::Domain::none) read_blocked(entry.data(), thread);
    // If the thread has returned from the call in the meantime, some of the fields may describe a later call.
    const auto again = copy_record<wire::area::kThreadSize>(at<wire::area::kThreadSize>(Region::threads, i));
    if (wire::load(again.data(), t::kCallTicks) != thread.call_ticks ||
        wire::load(again.data(), t::kCallSite) != thread.blocked.site) {
      thread.call_domain = wire::error::Domain::none;
      thread.blocked = {};
    }
  }
}

void AreaReader::read_blocked(const std::byte* entry, Thread& thread) {
  namespace t = wire::thread;
  Thread::Blocked& blocked = thread.blocked;
  blocked.site = wire::load(entry, t::kCallSite);
  if (blocked.site == 0) return;
  const std::uint32_t wait = wire::load(entry, t::kCallWait);
  const bool fits = wait <= static_cast<std::uint32_t>(t::Wait::context);
  if (fits) blocked.wait = static_cast<t::Wait>(wait);
  blocked.stream = wire::load(entry, t::kCallStream);
  blocked.context = wire::load(entry, t::kCallContext);
  blocked.event = wire::load(entry, t::kCallEvent);
  const bool named = strings_.copy(wire::load(entry, t::kCallName), blocked.call);
  blocked.call = written_name(std::move(blocked.call));
  const std::uint32_t outer = wire::load(entry, t::kCallOuter);
  if (!fits || !named || (outer != 0 && !strings_.copy(outer, blocked.outer))) ++record_.damaged;
}

void AreaReader::check_blocked() {
  for (Thread& thread : record_.threads) {
    Thread::Blocked& blocked = thread.blocked;
    // Drops a site that was interned after the heap was read. The next read of the area will include it.
    if (blocked.site > record_.sites.size()) blocked = {};
    if (blocked.stream >= record_.streams.size()) blocked.stream = wire::operation::kNoStream;
    if (blocked.context >= record_.contexts.size()) blocked.context = 0xffffffff;
  }
}

void AreaReader::read_contexts() {
  namespace c = wire::context;
  const std::size_t count = regions_.count(Region::contexts, wire::area::kContextSize, kMostContexts);
  record_.contexts.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto entry = copy_record<wire::area::kContextSize>(at<wire::area::kContextSize>(Region::contexts, i));
    const std::uint32_t state = wire::load(entry.data(), c::kState);
    const std::uint32_t markers = wire::load(entry.data(), c::kMarkers);
    if (state > static_cast<std::uint32_t>(c::State::destroyed) ||
        markers > static_cast<std::uint32_t>(c::Markers::refused)) {
      ++record_.damaged;
      continue;
    }
    record_.contexts[i] = {static_cast<c::State>(state),         wire::load(entry.data(), c::kUid),
                           wire::load(entry.data(), c::kHandle), wire::load(entry.data(), c::kDevice),
                           static_cast<c::Markers>(markers),     wire::load(entry.data(), c::kPeers)};
  }
}

void AreaReader::read_streams() {
  namespace s = wire::stream;
  const std::size_t count = regions_.count(Region::streams, wire::area::kStreamSize, kMostStreams);
  const std::size_t frozen = regions_.count(Region::frozen, wire::area::kFrozenSize, kMostStreams);
  const bool is_frozen = record_.state == wire::area::State::frozen;
  record_.streams.resize(count);
  in_flight_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto entry = copy_record<wire::area::kStreamSize>(at<wire::area::kStreamSize>(Region::streams, i));
    Stream& stream = record_.streams[i];
    const std::uint32_t state = wire::load(entry.data(), s::kState);
    if (state > static_cast<std::uint32_t>(s::State::destroyed)) {
      ++record_.damaged;
      continue;
    }
    // Skips the markers of unused entries: reading a hole of the memory file would allocate its memory.
    if (state == 0) continue;
    stream.state = static_cast<s::State>(state);
    stream.context = wire::load(entry.data(), s::kContext);
    stream.handle = wire::load(entry.data(), s::kHandle);
    stream.stream_id = wire::load(entry.data(), s::kStreamId);
    stream.created = wire::load(entry.data(), s::kCreated);
    stream.flags = wire::load(entry.data(), s::kFlags);
    stream.thread_tid = wire::load(entry.data(), s::kThreadTid);
    stream.issued = wire::load(entry.data(), s::kIssued);
    in_flight_[i] = wire::load(entry.data(), s::kInFlight);
    stream.marker_issued = wire::load(entry.data(), s::kMarkerIssued);
    stream.host_completed = wire::load(entry.data(), s::kHostCompleted);
    if (is_frozen && i < frozen) {
      stream = picture_at_freeze(i, stream);
    } else if (const std::byte* marker = regions_.marker(i)) {
      stream.marker = wire::load_acquire(marker, wire::marker::kCompleted);
    } else {
      stream.marker_issued = 0;
    }
  }
}

// Returns the stream with its marker at the freeze. After it, the recorder notes nothing, and the GPU writes no marker
// of the failed context. (An H200 wrote none, not even when the context was reset.) Zeroes beside a later marker
// therefore mean that the entry is lost.
Stream AreaReader::picture_at_freeze(std::size_t i, Stream stream) {
  const auto picture = copy_record<wire::area::kFrozenSize>(at<wire::area::kFrozenSize>(Region::frozen, i));
  const std::uint32_t host_completed = wire::load(picture.data(), wire::frozen::kHostCompleted);
  stream.marker = wire::load(picture.data(), wire::frozen::kMarker);
  if (stream.marker == 0 && host_completed == 0) {
    const bool one_context = std::ranges::count(record_.contexts, wire::context::State::free, &Context::state) + 1 ==
                             std::ssize(record_.contexts);
    const std::byte* marker = one_context ? regions_.marker(i) : nullptr;
    if (marker != nullptr) stream.marker = wire::load_acquire(marker, wire::marker::kCompleted);
    if (stream.completed() != 0) return ++record_.damaged, stream;
  }
  stream.host_completed = host_completed;
  return stream;
}

void AreaReader::read_operations() {
  const std::size_t threads = record_.threads.size();
  const std::size_t capacity =
      threads == 0 ? 0 : regions_.region(Region::rings).size() / wire::area::kOperationSize / threads;
  std::uint64_t expected = 0;
  for (const Thread& thread : record_.threads) expected += std::min<std::uint64_t>(thread.published, capacity);
  record_.operations.reserve(std::min<std::uint64_t>(expected, kMostReserved));
  for (std::size_t thread = 0; thread < threads; ++thread) {
    if (record_.threads[thread].state == wire::thread::State::free) continue;
    // Starts with the oldest record, so that little is left to sort. The oldest record is the first in the ring or, if
    // the ring has wrapped around, the one after the newest. Skips the holes at the end of a ring that has not wrapped
    // around.
    const std::uint64_t published = record_.threads[thread].published;
    const std::size_t first = published >= capacity && capacity > 0 ? published % capacity : 0;
    for (std::size_t i = 0; i < capacity && i <= published; ++i) {
      const std::size_t place = (first + i) % capacity;
      read_operation(at<wire::area::kOperationSize>(Region::rings, thread * capacity + place), thread, place, capacity);
    }
  }
  read_held();
  sort_operations();
}

// Operations are large, so only their keys are sorted.
void AreaReader::sort_operations() {
  struct Key {
    std::uint64_t ticks = 0, serial = 0;
    std::uint32_t index = 0;
    std::uint16_t thread = 0;
  };
  const auto earlier = [](const auto& a, const auto& b) {
    return std::tie(a.ticks, a.thread, a.serial) < std::tie(b.ticks, b.thread, b.serial);
  };
  std::vector<Operation>& all = record_.operations;
  if (std::ranges::is_sorted(all, earlier)) return;
  std::vector<Key> keys;
  keys.reserve(all.size());
  for (const Operation& operation : all) {
    keys.push_back({operation.ticks, operation.serial, static_cast<std::uint32_t>(keys.size()), operation.thread});
  }
  std::ranges::sort(keys, earlier);
  std::vector<Operation> sorted;
  sorted.reserve(all.size());
  for (const Key& key : keys) sorted.push_back(all[key.index]);
  all = std::move(sorted);
}

// Returns the highest possible serial with the low bits that the record contains. This serial may exceed the published
// count, because a live thread may have written records that it has not published yet.
std::uint64_t AreaReader::full_serial(const std::byte* record, std::size_t thread) const {
  constexpr std::uint64_t kLead = 1u << 16, kTurn = std::uint64_t{1} << 32;
  const std::uint64_t newest = record_.threads[thread].published + kLead;
  const std::uint64_t serial = newest / kTurn * kTurn + wire::load(record, wire::operation::kSerial);
  return serial > newest && serial >= kTurn ? serial - kTurn : serial;
}

void AreaReader::read_operation(const std::byte* slot, std::size_t thread, std::size_t place, std::size_t capacity) {
  const auto copy = copy_operation(slot);
  if (!copy) return;
  const std::uint64_t serial = full_serial(copy->data(), thread);
  if ((serial - 1) % capacity != place || wire::load(copy->data(), wire::operation::kThread) != thread) {
    ++record_.damaged;
    return;
  }
  if (const auto operation = decode(*copy)) add(*operation);
}

void AreaReader::read_held() {
  const std::size_t streams = record_.streams.size();
  const std::size_t places =
      streams == 0 ? 0 : regions_.region(Region::held).size() / wire::area::kOperationSize / streams;
  // An operation whose record is held may also be in the ring, but must be added only once.
  std::vector<OperationKey> in_rings;
  in_rings.reserve(record_.operations.size());
  for (const Operation& operation : record_.operations) in_rings.emplace_back(operation.thread, operation.serial);
  if (!std::ranges::is_sorted(in_rings)) std::ranges::sort(in_rings);
  std::set<OperationKey> held;
  for (std::size_t stream = 0; stream < streams; ++stream) {
    if (record_.streams[stream].state == wire::stream::State::free) continue;
    for (std::size_t place = 0; place < places; ++place) {
      const auto copy = copy_operation(at<wire::area::kOperationSize>(Region::held, stream * places + place));
      if (!copy) continue;
      if (wire::load(copy->data(), wire::operation::kStream) != stream) {
        ++record_.damaged;
        continue;
      }
      const auto operation = decode(*copy);
      if (!operation) continue;
      const OperationKey key(operation->thread, operation->serial);
      const bool is_known = std::ranges::binary_search(in_rings, key) || !held.insert(key).second;
      if (!is_known) add(*operation);
    }
  }
}

std::optional<Operation> AreaReader::decode(const RecordCopy<wire::area::kOperationSize>& copy) {
  const std::byte* record = copy.data();
  if (wire::operation::is_race_record(kind_of(record))) return std::nullopt;
  const std::size_t thread = wire::load(record, wire::operation::kThread);
  auto operation =
      thread < record_.threads.size() ? decode_operation(record, full_serial(record, thread), record_) : std::nullopt;
  if (!operation) ++record_.damaged;
  return operation;
}

void AreaReader::add(const Operation& operation) {
  if (operation.graph_words != 0) read_graph_words();
  record_.operations.push_back(operation);
  // A live process may have begun to use the stream after its entry was read.
  const bool is_frozen = record_.state == wire::area::State::frozen && operation.stream < record_.streams.size();
  if (!is_frozen || record_.streams[operation.stream].state != wire::stream::State::free) return;
  // Without the stream's entry, it is unknown what has finished.
  ++record_.damaged;
  record_.operations.back().stream = wire::operation::kNoStream;
  record_.operations.back().ordinal = 0;
}

// Called only if an operation refers to a graph word. Usually none does, and the graph words are a hole in the file.
void AreaReader::read_graph_words() {
  if (!record_.graph_words.empty()) return;
  const std::size_t count = regions_.count(Region::graph_words, wire::area::kGraphWordSize, kMostGraphWords);
  for (std::size_t i = 0; i < count; ++i) {
    record_.graph_words.push_back(
        wire::load_acquire(at<wire::area::kGraphWordSize>(Region::graph_words, i), wire::Field<std::uint32_t, 0>{}));
  }
}

void AreaReader::read_allocations() {
  namespace w = wire::allocation;
  const std::uint64_t used = wire::load_acquire(area_.data(), wire::area::kAllocationsUsed);
  const std::size_t places = regions_.count(Region::allocations, wire::area::kAllocationSize, kMostAllocations);
  if (used > places) ++record_.damaged;
  const auto site = [&](std::uint32_t id) { return id > record_.sites.size() ? 0 : id; };
  const auto index = [](std::uint32_t value, std::size_t size) { return value < size ? value : w::kNone; };
  for (std::size_t i = 0; i < std::min<std::uint64_t>(used, places); ++i) {
    const auto copy =
        copy_serialised<wire::area::kAllocationSize>(at<wire::area::kAllocationSize>(Region::allocations, i));
    if (!copy) {
      ++record_.dropped_allocations;  // its entry is lost, or being written
      continue;
    }
    const std::byte* from = copy->data();
    const auto kind = static_cast<w::Kind>(wire::load(from, w::kKind));
    Allocation made;
    made.address = wire::load(from, w::kAddress);
    made.bytes = wire::load(from, w::kBytes);
    if (kind == w::Kind::none || kind > w::Kind::registered || made.address + made.bytes < made.address) {
      ++record_.damaged;
      continue;
    }
    made.kind = kind;
    made.serial = wire::load(from, w::kSerial);
    made.made = wire::load(from, w::kMade);
    made.freed = wire::load(from, w::kFreed);
    made.site = site(wire::load(from, w::kSite));
    made.freed_site = site(wire::load(from, w::kFreedSite));
    made.flags = wire::load(from, w::kFlags);
    made.thread = wire::load(from, w::kThread);
    made.context = index(wire::load(from, w::kContext), record_.contexts.size());
    made.stream = index(wire::load(from, w::kStream), record_.streams.size());
    made.freed_stream = index(wire::load(from, w::kFreedStream), record_.streams.size());
    record_.allocations.push_back(made);
  }
  std::ranges::sort(record_.allocations, {}, &Allocation::serial);
}

void AreaReader::read_site_counts() {
  const std::size_t places = regions_.region(Region::sites).size() / wire::area::kSiteSize;
  for (std::size_t id = 1; id < places && id <= record_.sites.size(); ++id) {
    const std::byte* count = at<wire::area::kSiteSize>(Region::sites, wire::area::site_place(id, places));
    record_.sites[id - 1].operations = wire::load_acquire(count, wire::Field<std::uint64_t, 0>{});
  }
}

}  // namespace

std::string not_an_area(std::span<const std::byte> area) {
  if (area.size() < wire::area::kHeaderSize) return "it is too short to be a recording";
  if (wire::load(area.data(), wire::area::kMagic) != wire::area::kMagicValue) return "it is not a cudadiag recording";
  const std::uint32_t version = wire::load(area.data(), wire::area::kVersion);
  if (version != wire::area::kFormatVersion) {
    return "it was written in format version " + std::to_string(version) + "; this cudadiag reads version " +
           std::to_string(wire::area::kFormatVersion) + "; open it with the version of cudadiag that wrote it";
  }
  return {};
}

AreaContents read_area(std::span<const std::byte> area, std::optional<wire::ClockReading> now) {
  AreaContents contents;
  contents.error = not_an_area(area);
  if (contents.error.empty()) contents.record = AreaReader(area, now).read();
  return contents;
}

}  // namespace cudadiag::session
