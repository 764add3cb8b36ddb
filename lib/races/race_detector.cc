#include "races/race_detector.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "session/area_reader.h"
#include "wire/area.h"
#include "wire/operation.h"
#include "wire/race_record.h"
#include "wire/tables.h"

namespace cudadiag::races {

namespace {

// If a kernel uses memory near an address, we do not know how it uses the address itself, so the mode is unknown.
session::RaceMode stored_mode(Mode mode) {
  using session::RaceMode;
  constexpr RaceMode modes[] = {RaceMode::unknown, RaceMode::none,    RaceMode::read,   RaceMode::write,
                                RaceMode::atomic,  RaceMode::unknown, RaceMode::unknown};
  return modes[static_cast<std::size_t>(mode)];
}

session::Work stored_work(What what) {
  using session::Work;
  constexpr Work works[] = {Work::kernel, Work::copy, Work::memset, Work::allocation, Work::free};
  return works[static_cast<std::size_t>(what)];
}

}  // namespace

session::RaceAccess stored_access(const Access& access, const Order& order) {
  session::RaceAccess to;
  to.what = stored_work(access.what);
  to.mode = stored_mode(access.mode);
  to.array = access.array;
  to.begin = access.array == 0 ? access.begin : access.begin % kArrayRoom;
  to.end = to.begin + (access.end() - access.begin);
  to.exact = access.exact;
  to.somewhere = access.somewhere;
  to.out_of_order = access.when != When::in_stream;
  to.stream = order.traits(access.stream).handle;
  to.site = access.site;
  to.function = access.function;
  to.parameter = access.parameter;
  to.node = access.node;
  to.thread = access.thread;
  to.ticks = access.ticks;
  return to;
}

namespace {

namespace area = wire::area;
namespace operation = wire::operation;
namespace race = wire::race;

// `home` is the memory that both accesses use.
session::Race stored_race(const Conflict& race, const Memory& home, const Order& order) {
  session::Race to;
  to.first = stored_access(race.first, order);
  to.second = stored_access(race.second, order);
  to.possible = race.possible;
  to.uncertain = race.uncertain;
  to.waited_before = race.ever_waited;
  to.several = race.several;
  to.one_graph = race.first.at == race.second.at;
  to.times = race.times;
  to.address = home.begin, to.bytes = home.bytes, to.allocated = home.site;
  return to;
}

// `home` is the memory of the copy's source.
session::Race stored_race(const HostWrites::Found& found, const Memory& home, const Order& order) {
  session::Race to;
  to.first = stored_access(found.copy, order);
  to.second.on_host = true;
  to.second.mode = session::RaceMode::write;
  to.second.begin = found.change.begin;
  to.second.end = found.change.end;
  to.second.exact = found.change.while_held;
  to.changed = found.change.bytes;
  to.sampled = found.change.sampled;
  to.after_begin = found.change.after_begin;
  to.unchanged_at = found.change.unchanged_at;
  to.changed_at = found.change.changed_at;
  to.others_ran = found.change.others_ran;
  to.launched = found.launched;
  to.times = found.times;
  to.address = home.begin, to.bytes = home.bytes, to.allocated = home.site;
  return to;
}
using operation::Kind;

constexpr std::size_t kMostThreads = 8192;
constexpr std::uint64_t kPerThreadStream = 2;  // CU_STREAM_PER_THREAD in cuda.h; smaller handles are the legacy
                                               // stream

// Returns a test for the values that end a wait. The test is empty for a semaphore, because the driver does not report
// its values.
std::function<bool(std::uint64_t)> ending(operation::MemoryOperation what, std::uint64_t value) {
  using operation::MemoryOperation;
  switch (what) {
    case MemoryOperation::wait_equal:
      return [value](std::uint64_t word) { return word == value; };
    case MemoryOperation::wait_at_least:
      // Allows for 32-bit wraparound, because the driver does not report the width of the word.
      return [value](std::uint64_t word) {
        const bool narrow = (word | value) >> 32 == 0;
        return narrow ? static_cast<std::int32_t>(static_cast<std::uint32_t>(word - value)) >= 0
                      : static_cast<std::int64_t>(word - value) >= 0;
      };
    case MemoryOperation::wait_and:
      return [value](std::uint64_t word) { return (word & value) != 0; };
    case MemoryOperation::wait_nor:
      return [value](std::uint64_t word) { return static_cast<std::uint32_t>(~(word | value)) != 0; };
    default:
      return {};
  }
}

}  // namespace

Detector::Detector(std::span<const std::byte> bytes, KernelMode kernel_mode, CodeOf code_of)
    : memory_(bytes),
      history_(order_,
               [this, mode = std::move(kernel_mode)](const Access& access) {
                 return mode(access.function, access.parameter, launches_[access.words]);
               }),
      launch_bytes_(code_of),
      kernel_races_(std::move(code_of)) {
  streams_ = session::AreaRegions(bytes).region(area::Region::streams);
  known_.resize(streams_.size() / area::kStreamSize);
}

// ---- gaps

void Detector::lost(std::uint64_t count, std::uint64_t until) {
  lost_ += count;
  ++gaps_;
  gap_until_ = std::max(gap_until_, until);
  forget_all();
}

// After records were lost, a handle may refer to a different graph or stream, and pending parameters may be those of a
// lost kernel.
void Detector::forget_all() {
  history_.forget_all();
  host_writes_.forget();
  images_.forget();
  forget_graphs();
  for (Pending& pending : pending_) pending = {};
  for (StreamEntry& known : known_) known.sure = false;
}

// ---- records

void Detector::record(const std::byte* record, std::string_view parameters) {
  const std::size_t thread = wire::load(record, operation::kThread);
  if (thread >= kMostThreads) return;
  if (thread >= pending_.size()) pending_.resize(thread + 1);
  const std::uint64_t ticks = wire::load(record, operation::kTicks);
  if (gap_until_ != 0 && ticks >= gap_until_) {
    gap_until_ = 0;
    forget_all();
    memory_.read_table();
  }
  Pending& pending = pending_[thread];
  if (take_without_stream(record, pending)) return;
  StreamNumber stream = 0;
  const bool has_stream = find_stream(wire::load(record, operation::kStream), ticks, stream);
  if (take_outside_stream(record, has_stream, stream)) return;
  const std::uint8_t flags = wire::load(record, operation::kFlags);
  const bool failed = (flags & operation::kReturned) != 0 && wire::load(record, operation::kResult) != 0;
  if (has_stream && !failed && (flags & operation::kCaptured) == 0) operation({record, parameters, stream}, pending);
  pending.forget_operation();
  pending.watched = 0;
  pending.ended.clear();
}

bool Detector::take_without_stream(const std::byte* record, Pending& pending) {
  const auto kind = static_cast<Kind>(wire::load(record, operation::kKind));
  switch (kind) {
    case Kind::graph_made:
    case Kind::graph_node:
    case Kind::graph_edges:
      if (kind == Kind::graph_node && wire::load(record, race::kWord0) == 0) return note_part(record, pending), true;
      if (kind == Kind::graph_node && (wire::load(record, race::kNodeType) & race::kHasEnded) != 0) {
        return note_ended(record, pending), true;
      }
      graph_part(record, pending);
      pending.forget_operation();
      return true;
    case Kind::array_made:
    case Kind::image_made:
      return note_image(record), true;
    case Kind::tensor_map_made:
      return images_.tensor_map_made(record), true;
    case Kind::array_side:
      return note_side(record, pending), true;
    case Kind::tensor_map:
      return note_tensor_maps(record, pending), true;
    case Kind::parameters:
      return note_parameters(record, pending), true;
    case Kind::rows:
      return note_rows(record, pending), true;
    case Kind::stream_made:
      return stream_made(record), true;
    case Kind::source_watched:
      pending.watched = wire::load(record, race::kWord0);
      return true;
    case Kind::source_changed:
      return source_changed(record), true;
    default:
      return false;
  }
}

bool Detector::take_outside_stream(const std::byte* record, bool has_stream, StreamNumber stream) {
  const std::uint64_t handle = wire::load(record, race::kWord0);
  switch (static_cast<Kind>(wire::load(record, operation::kKind))) {
    case Kind::host_saw_context:
      return order_.context_seen(memory_.context_uid(static_cast<std::uint32_t>(handle))), true;
    case Kind::event_made:
      wire::load(record, race::kWord1) == 0 ? order_.event_made(handle) : order_.event_gone(handle);
      return true;
    case Kind::event_sync:
      return order_.event_seen(wire::load(record, operation::kArgument)), true;
    case Kind::memory_made:
      return memory_made(record, has_stream, stream), true;
    case Kind::memory_freed:
      return memory_freed(record, has_stream, stream), true;
    case Kind::host_saw_stream:
      if (has_stream && is_seen(record)) order_.stream_seen(stream);
      return true;
    case Kind::stranger_met:
      return order_.stranger_met(), true;
    default:
      return false;
  }
}

void Detector::Pending::forget_operation() {
  words.clear();
  function = 0;
  sides.clear();
  tensor_maps.clear();
  rows = {};
  parts.clear();
}

// Returns whether the host has seen the copy finish. This depends on the kinds of memory that the copy uses. Memory of
// an unknown kind may be host memory.
bool Detector::is_seen(const std::byte* record) const {
  using Memories = wire::allocation::Kind;
  const std::uint64_t seen = wire::load(record, race::kWord0);
  if (seen == race::kAnyway) return true;
  const std::uint64_t source = wire::load(record, race::kWord1);
  const Memory *from = memory_.at(source), *to = memory_.at(wire::load(record, race::kWord2));
  const auto of_host = [](const Memory* memory) {
    return memory == nullptr || memory->kind == Memories::pinned || memory->kind == Memories::registered;
  };
  const auto of_device = [](const Memory* memory) { return memory != nullptr && memory->context != 0; };
  if (seen == race::kUnlessOnDevices) return !(of_device(from) && of_device(to));
  return to == nullptr || (source != 0 && of_host(from) && of_host(to));
}

void Detector::note_rows(const std::byte* record, Pending& pending) {
  pending.rows = {wire::load(record, race::kWidth), wire::load(record, race::kDestinationPitch),
                  wire::load(record, race::kSourcePitch), wire::load(record, race::kRows)};
}

void Detector::note_part(const std::byte* record, Pending& pending) {
  if (pending.parts.size() < race::kMostParts) {
    const std::uint32_t order = wire::load(record, race::kNodeType);
    const When when = order == race::kAnyTime      ? When::any_time
                      : order == race::kDuringCall ? When::during_call
                                                   : When::in_stream;
    pending.parts.push_back({wire::load(record, race::kWord1), wire::load(record, race::kWord2),
                             wire::load(record, race::kWord3), pending.rows, when, std::move(pending.sides)});
  }
  pending.rows = {};
  pending.sides.clear();
}

void Detector::note_side(const std::byte* record, Pending& pending) {
  constexpr std::size_t kMostSides = 2;
  if (pending.sides.size() < kMostSides) pending.sides.push_back(KnownImages::side_of(record));
}

void Detector::operation(const Issued& issued, Pending& pending) {
  const auto& [record, parameters, stream] = issued;
  ++operations_;
  const std::uint64_t argument = wire::load(record, operation::kArgument);
  switch (static_cast<Kind>(wire::load(record, operation::kKind))) {
    case Kind::kernel:
      return kernel(issued, pending);
    case Kind::copy:
    case Kind::memset:
      return copy(record, stream, pending);
    case Kind::graph:
      return graph(record, stream, pending);
    case Kind::event_record:
      return order_.event_recorded(argument, stream);
    case Kind::event_wait:
      return order_.event_waited(argument, stream);
    case Kind::host_function:
      order_.host_told(stream);
      return host_writes_.mediator(order_.now(), stream);
    case Kind::memory_operation: {
      using wire::operation::MemoryOperation;
      const auto what = static_cast<MemoryOperation>(wire::load(record, operation::kMemoryOperation));
      const std::uint64_t value = wire::load(record, operation::kValue);
      const bool tells = what == MemoryOperation::write || what == MemoryOperation::signal_semaphore;
      if (!tells) order_.word_waited(argument, stream, ending(what, value));
      // The source of a watched copy may contain the word, so this operation may change the source.
      if (tells || what == MemoryOperation::unknown) host_writes_.mediator(order_.now(), stream);
      // A batch of memory operations is recorded as its first wait, but may also contain writes.
      return tells || what == MemoryOperation::unknown ? order_.word_written(argument, stream, value)
                                                       : order_.host_told(stream);
    }
    default:
      order_.issue(stream);
      return;
  }
}

Access Detector::by_call(const std::byte* record, Moment at, StreamNumber stream) {
  Access access;
  access.at = at;
  access.stream = stream;
  access.site = wire::load(record, operation::kSite);
  access.thread = wire::load(record, operation::kThread);
  access.ticks = wire::load(record, operation::kTicks);
  return access;
}

void Detector::add(Access access) {
  if (gap_until_ != 0) return;
  history_.add(access);
  if (host_writes_.any_watched()) host_writes_.used(access);
  note_homes();
}

void Detector::settle(bool at_last) {
  history_.settle(at_last);
  note_homes();
  if (at_last) kernel_races_.judge();
}

void Detector::note_homes() {
  while (homes_.size() < history_.races().size()) {
    const Conflict& race = history_.races()[homes_.size()];
    homes_.push_back(memory_.known_at(std::max(race.first.begin, race.second.begin)));
  }
}

// On a default stream, a copy between two devices waits for all earlier work on both devices. All later work on them
// waits for the copy.
bool Detector::joins_devices(StreamNumber stream, std::uint64_t source, std::uint64_t destination) const {
  const Memory *from = memory_.at(source), *to = memory_.at(destination);
  const bool apart =
      from != nullptr && to != nullptr && from->context != 0 && to->context != 0 && from->context != to->context;
  return apart && order_.traits(stream).handle <= kPerThreadStream;
}

void Detector::copy(const std::byte* record, StreamNumber stream, const Pending& pending) {
  const bool is_copy = static_cast<Kind>(wire::load(record, operation::kKind)) == Kind::copy;
  const Part whole{wire::load(record, operation::kDestination),
                   wire::load(record, operation::kSource),
                   operation::bytes_of(record),
                   pending.rows,
                   When::in_stream,
                   pending.sides};
  const bool joins = is_copy && joins_devices(stream, whole.source, whole.destination);
  if (joins) {
    order_.context_seen(memory_.at(whole.source)->context);
    order_.context_seen(memory_.at(whole.destination)->context);
  }
  Access access = by_call(record, order_.issue(stream), stream);
  access.what = is_copy ? What::copy : What::memset;
  const std::vector<Part> parts = pending.parts.empty() ? std::vector{whole} : pending.parts;
  if (pending.watched != 0) watch_sources(access, parts, pending.watched);
  for (const Part& part : parts) place(access, part, stream);
  if (joins || (wire::load(record, operation::kFlags) & operation::kBlocking) != 0) order_.stream_seen(stream);
}

// Adds the accesses on both sides of a copy, or that of a memset.
void Detector::place(Access access, const Part& part, StreamNumber stream) {
  const Rows& rows = part.rows;
  const auto use = [&](std::uint64_t address, std::uint64_t pitch, Mode mode) {
    if (memory_.at(address) == nullptr) return;
    if (mode == Mode::write) {
      order_.words_overwritten(address, address + std::max<std::uint64_t>(part.bytes, 1), stream);
    }
    add(with_place(access, address, {pitch, part.bytes, rows.width, rows.rows}, mode));
  };
  access.when = part.when;
  if (access.what == What::copy && part.source != 0) use(part.source, rows.source_pitch, Mode::read);
  access.when = When::in_stream;
  if (part.destination != 0) use(part.destination, rows.destination_pitch, Mode::write);
  if (access.what == What::copy) place_in_arrays(access, part);
}

// ---- what was found

session::RaceCounts Detector::counts() const {
  const std::uint64_t unlisted = history_.unlisted() + host_writes_.unlisted();
  return {0,
          operations_,
          lost_,
          gaps_,
          history_.forgotten(),
          unlisted,
          history_.unjudged(),
          kernel_races_.kernels(),
          kernel_races_.unchecked()};
}

std::vector<session::Race> Detector::races() const {
  std::vector<session::Race> out;
  for (std::size_t i = 0; i < history_.races().size(); ++i) {
    out.push_back(stored_race(history_.races()[i], i < homes_.size() ? homes_[i] : Memory{}, order_));
  }
  for (std::size_t i = 0; i < host_writes_.found().size(); ++i) {
    out.push_back(stored_race(host_writes_.found()[i], host_homes_[i], order_));
  }
  return out;
}

std::vector<session::Race> Detector::unjudged() const {
  std::vector<session::Race> out;
  for (const Conflict& pair : history_.unjudged_pairs()) {
    const Memory memory = memory_.known_at(std::max(pair.first.begin, pair.second.begin));
    out.push_back(stored_race(pair, memory, order_));
  }
  return out;
}

// ---- the number of each stream that the records name

namespace {

std::uint32_t context_of(const std::byte* stream) { return wire::load(stream, wire::stream::kContext); }

StreamTraits traits_of(std::uint64_t handle, std::uint32_t context, std::uint32_t flags) {
  return {handle, context, (flags & wire::stream::kLegacy) != 0, (flags & wire::stream::kNonBlocking) == 0};
}

}  // namespace

void Detector::begin_life(StreamEntry& known, std::uint64_t created, const StreamTraits& traits) {
  if (known.has_stream) order_.stream_gone(known.number);
  known = {created, order_.stream_made(traits), true, true};
}

void Detector::stream_made(const std::byte* record) {
  const auto index = wire::load(record, operation::kStream);
  const std::uint64_t ticks = wire::load(record, operation::kTicks);
  if (index >= known_.size() || (known_[index].has_stream && known_[index].created == ticks)) return;
  begin_life(known_[index], ticks,
             traits_of(wire::load(record, race::kWord0), static_cast<std::uint32_t>(wire::load(record, race::kWord1)),
                       static_cast<std::uint32_t>(wire::load(record, race::kWord2))));
}

// Finds the stream that an entry of the stream table described when the record was written. The entry may have been
// reused since then, and shows only its latest stream. In that case, uses the recorded creations of streams.
bool Detector::find_stream(std::uint32_t index, std::uint64_t ticks, StreamNumber& stream) {
  if (index >= known_.size()) return false;
  StreamEntry& known = known_[index];
  const std::byte* entry = streams_.data() + index * area::kStreamSize;
  const std::uint64_t created = wire::load(entry, wire::stream::kCreated);
  const bool same = known.has_stream && created == known.created;
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

// ---- the backlog

Backlog::Backlog(std::span<const std::byte> area, Detector& detector, IsRead is_read)
    : area_(area), detector_(detector), is_read_(std::move(is_read)) {}

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
  if (held_.empty() && !waits) return detector_.record(record, held.parameters);
  std::memcpy(held.record.data(), record, held.record.size());
  if (!waits) held.kernel = 0;
  held.since = std::chrono::steady_clock::now();
  held_.push_back(std::move(held));
  if (held_.size() > kMost) hand_on_all();
}

void Backlog::lost(std::uint64_t count, std::uint64_t until) {
  if (held_.empty()) return detector_.lost(count, until);
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
  if (held.lost != 0) return detector_.lost(held.lost, held.until);
  detector_.record(held.record.data(), held.parameters);
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
