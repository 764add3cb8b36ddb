// Decodes records of an area: operations, their parameters, failed calls, and NCCL's communicators.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "session/area_reader.h"
#include "wire/error.h"
#include "wire/intern.h"
#include "wire/operation.h"
#include "wire/tables.h"

namespace cudadiag::session {
namespace {

namespace o = wire::operation;
using o::Kind;

void decode_argument(const std::byte* record, Operation& operation) {
  if (operation.kind == Kind::kernel) {
    operation.grid = {wire::load(record, o::kGridX), wire::load(record, o::kGridY), wire::load(record, o::kGridZ)};
    const auto block = wire::load(record, o::kBlock);
    operation.block = {o::Block::x(block), o::Block::y(block), o::Block::z(block)};
    const auto cluster = wire::load(record, o::kCluster);
    operation.cluster = {o::Cluster::x(cluster), o::Cluster::y(cluster), o::Cluster::z(cluster)};
    operation.shared_bytes = wire::load(record, o::kSharedBytes);
  } else if (o::has_bytes(operation.kind)) {
    operation.argument = o::bytes_of(record);
    operation.destination = wire::load(record, o::kDestination);
    operation.source = wire::load(record, o::kSource);
  } else {
    operation.argument = wire::load(record, o::kArgument);
  }
  if (operation.kind == Kind::event_sync) operation.began = wire::load(record, o::kBegan);
  if (o::has_returned_at(operation.kind)) operation.returned_at = wire::load(record, o::kReturnedAt);
  if (operation.kind == Kind::memory_operation) {
    operation.value = wire::load(record, o::kValue);
    const std::uint8_t what = wire::load(record, o::kMemoryOperation);
    if (what <= static_cast<std::uint8_t>(o::MemoryOperation::signal_semaphore)) {
      operation.memory_operation = static_cast<o::MemoryOperation>(what);
    }
  }
}

void decode_graph(const std::byte* record, const ProcessRecord& process, Operation& operation) {
  operation.graph = wire::load(record, o::kGraph);
  if (operation.graph > process.graphs.size()) operation.graph = 0;
  operation.replay = wire::load(record, o::kReplay);
  operation.graph_flags = wire::load(record, o::kGraphFlags);
  operation.graph_words = wire::load(record, o::kGraphWords);
  const Graph* graph = by_id(process.graphs, operation.graph);
  if (graph == nullptr || graph->changed_from == 0) return;
  if (!graph->whole) operation.graph_flags |= o::kGraphUntold;
  operation.graph_changed = operation.graph;
  operation.graph = graph->changed_from;
}

}  // namespace

std::optional<Operation> decode_operation(const std::byte* record, std::uint64_t serial, const ProcessRecord& process) {
  Operation operation;
  operation.kind = kind_of(record);
  operation.thread = wire::load(record, o::kThread);
  operation.stream = wire::load(record, o::kStream);
  if (operation.stream == static_cast<std::uint16_t>(o::kNoStream)) operation.stream = o::kNoStream;
  const bool stream_fits = operation.stream == o::kNoStream || operation.stream < process.streams.size();
  const bool is_known = operation.kind != Kind::none && operation.kind <= Kind::event_forgotten;
  if (!is_known || o::is_race_record(operation.kind) || operation.thread >= process.threads.size() || !stream_fits) {
    return std::nullopt;
  }
  operation.serial = serial;
  operation.flags = wire::load(record, o::kFlags);
  operation.site = wire::load(record, o::kSite);
  // A live process may have interned the site after the heap was read. For now, the operation then has no site.
  if (operation.site > process.sites.size()) operation.site = 0;
  operation.ordinal = wire::load(record, o::kOrdinal);
  operation.result = wire::load(record, o::kResult);
  operation.site_ordinal = wire::load(record, o::kSiteOrdinal);
  operation.ticks = wire::load(record, o::kTicks);
  // If an operation is older than its stream's entry, it belongs to an earlier stream that used the same entry.
  if (operation.stream != o::kNoStream && operation.ticks < process.streams[operation.stream].created) {
    operation.stream = o::kNoStream;
    operation.ordinal = 0;
  }
  decode_argument(record, operation);
  if (operation.kind == Kind::graph) decode_graph(record, process, operation);
  operation.origin = {wire::load(record, o::kNumber),     wire::load(record, o::kOwnThread),
                      wire::load(record, o::kNodeThread), wire::load(record, o::kNode),
                      wire::load(record, o::kGraphTask),  wire::load(record, o::kNodeType)};
  if (operation.origin.node_type > process.node_types.size()) operation.origin.node_type = 0;
  return operation;
}

using wire::area::Region;

namespace {

// A limit that no recorder exceeds. A larger table is truncated.
constexpr std::size_t kMostErrors = 65536;

void read_one(const std::byte* slot, InternStrings& strings, ProcessRecord& record) {
  namespace e = wire::error;
  const auto copy = copy_serialised<wire::area::kErrorSize>(slot);
  if (!copy) return;
  const std::byte* from = copy->data();
  const std::uint8_t domain = wire::load(from, e::kDomain);
  if (domain == 0 || domain > static_cast<std::uint8_t>(e::Domain::runtime)) {
    ++record.damaged;
    return;
  }
  FailedCall& error = record.errors.emplace_back();
  error.domain = static_cast<e::Domain>(domain);
  error.serial = wire::load(from, e::kSerial);
  error.ticks = wire::load(from, e::kTicks);
  error.code = wire::load(from, e::kCode);
  error.tid = wire::load(from, e::kTid);
  error.flags = wire::load(from, e::kFlags);
  error.call_id = wire::load(from, e::kCallId);
  const auto name = [&](std::uint32_t id, std::string& out) {
    if (!strings.copy(id, out) && id != 0) ++record.damaged;
  };
  name(wire::load(from, e::kCallName), error.call);
  error.call = written_name(std::move(error.call));
  name(wire::load(from, e::kOuterName), error.outer);
  name(wire::load(from, e::kExplanation), error.explanation);
  error.of_call = wire::load(from, e::kOfCall);
  error.outer_code = wire::load(from, e::kOuterCode);
  error.site = wire::load(from, e::kSite);
  if (error.site > record.sites.size()) error.site = 0;
  error.stream = wire::load(from, e::kStream);
  if (error.stream >= record.streams.size()) error.stream = wire::operation::kNoStream;
  error.context = wire::load(from, e::kContext);
  if (error.context >= record.contexts.size()) error.context = 0xffffffff;
  error.thread = wire::load(from, e::kThread);
  if (error.thread >= record.threads.size()) error.thread = 0xffffffff;
  error.grid = {wire::load(from, e::kGridX), wire::load(from, e::kGridY), wire::load(from, e::kGridZ)};
  error.block = {wire::load(from, e::kBlockX), wire::load(from, e::kBlockY), wire::load(from, e::kBlockZ)};
  error.shared_bytes = wire::load(from, e::kSharedBytes);
  error.bytes = wire::load(from, e::kBytes);
  const bool refused = (error.flags & e::kLaunch) != 0 && error.code != wire::cuda::kMemoryAllocation;
  const bool frees = error.code == wire::cuda::kInvalidValue && error.call.starts_with("cuMemFree");
  (refused ? error.most_threads : frees ? error.pointer : error.device_free) = wire::load(from, e::kDeviceFree);
  (refused ? error.most_shared : error.device_total) = wire::load(from, e::kDeviceTotal);
  error.operation = wire::load(from, e::kOperation);
  error.started = wire::load(from, e::kStarted);
  error.capture = {wire::load(from, e::kCaptureBegan), wire::load(from, e::kCaptureTid),
                   wire::load(from, e::kCaptureMode), wire::load(from, e::kCaptureSite)};
  if (error.capture.site > record.sites.size()) error.capture.site = 0;
}

// Marks the record as frozen at its first sticky error, for a process that could not store this state itself. Another
// thread may have ended the process just after the failed call was recorded.
void freeze_at_lost_context(ProcessRecord& record) {
  const auto lost = std::ranges::find_if(
      record.errors, [](const FailedCall& error) { return (error.flags & wire::error::kSticky) != 0; });
  if (lost == record.errors.end()) return;
  record.state = wire::area::State::frozen;
  record.frozen_error = static_cast<std::uint32_t>(lost - record.errors.begin()) + 1;
  record.frozen_code = lost->code;
  record.frozen_ticks = lost->ticks;
  record.clock_last = std::max(record.clock_last, lost->ticks);
}

}  // namespace

void read_failed_calls(const AreaRegions& regions, InternStrings& strings, std::uint32_t frozen_slot,
                       ProcessRecord& record) {
  const std::size_t count = regions.count(Region::errors, wire::area::kErrorSize, kMostErrors);
  const std::byte* slots = regions.region(Region::errors).data();
  std::uint64_t frozen_serial = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t before = record.errors.size();
    read_one(slots + i * wire::area::kErrorSize, strings, record);
    if (record.errors.size() > before && i + 1 == frozen_slot) frozen_serial = record.errors.back().serial;
  }
  std::ranges::sort(record.errors, {}, &FailedCall::serial);
  const auto frozen = std::ranges::find(record.errors, frozen_serial, &FailedCall::serial);
  if (frozen_serial != 0) record.frozen_error = static_cast<std::uint32_t>(frozen - record.errors.begin()) + 1;
  if (record.state == wire::area::State::recording) freeze_at_lost_context(record);
}

namespace {

namespace w = wire::collective;
namespace c = wire::communicator;
namespace p = wire::peer;

// Limits that no recorder exceeds.
constexpr std::size_t kMostCommunicators = 65536;
constexpr std::size_t kMostPeers = 1u << 20;
constexpr std::size_t kMostCollectives = 1u << 20;

void read_communicators(const AreaRegions& regions, ProcessRecord& record) {
  const std::byte* region = regions.region(Region::communicators).data();
  for (std::size_t i = 0; i < regions.count(Region::communicators, c::kSize, kMostCommunicators); ++i) {
    const auto entry = copy_record<c::kSize>(region + i * c::kSize);
    const std::uint32_t state = wire::load(entry.data(), c::kState);
    // Stops at the first free entry, because entries are filled in order.
    if (state == static_cast<std::uint32_t>(c::State::free)) break;
    Communicator& communicator = record.communicators.emplace_back();
    communicator.rank = wire::load(entry.data(), c::kRank);
    communicator.ranks = wire::load(entry.data(), c::kRanks);
    if (state > static_cast<std::uint32_t>(c::State::finalized) || communicator.rank < 0 || communicator.ranks < 0 ||
        (communicator.ranks > 0 && communicator.rank >= communicator.ranks)) {
      ++record.damaged;
      communicator = {};
      continue;
    }
    communicator.finalized = state == static_cast<std::uint32_t>(c::State::finalized);
    communicator.hash = wire::load(entry.data(), c::kHash);
    communicator.version = wire::load(entry.data(), c::kVersion);
    communicator.made = wire::load(entry.data(), c::kMade);
    communicator.collectives = wire::load(entry.data(), c::kCollectives);
    communicator.captured = wire::load(entry.data(), c::kCaptured);
    const char* name = reinterpret_cast<const char*>(entry.data() + c::kName);
    communicator.name.assign(name, ::strnlen(name, c::kNameSize));
  }
}

void read_peers(const AreaRegions& regions, ProcessRecord& record) {
  const std::byte* region = regions.region(Region::peers).data();
  for (std::size_t i = 0; i < regions.count(Region::peers, p::kSize, kMostPeers); ++i) {
    const auto entry = copy_record<p::kSize>(region + i * p::kSize);
    const std::uint64_t key = wire::load(entry.data(), p::kKey);
    if (key == 0) continue;
    const std::uint32_t communicator = p::communicator_of(key);
    if ((key & p::kUsed) == 0 || communicator >= record.communicators.size()) {
      ++record.damaged;
      continue;
    }
    Communicator& of = record.communicators[communicator];
    auto& calls = (key & p::kReceives) != 0 ? of.receives : of.sends;
    calls[p::peer_of(key)] = wire::load(entry.data(), p::kCalls);
  }
}

bool decode(const std::byte* from, const ProcessRecord& record, Collective& call) {
  call.number = wire::load(from, w::kNumber);
  call.communicator = wire::load(from, w::kCommunicator);
  const std::uint8_t function = wire::load(from, w::kFunction), type = wire::load(from, w::kType);
  if (call.communicator >= record.communicators.size() || function >= w::kFunctionNames.size() ||
      type >= w::kTypeNames.size()) {
    return false;
  }
  call.function = static_cast<w::Function>(function);
  call.type = static_cast<w::Type>(type);
  call.ticks = wire::load(from, w::kTicks);
  call.count = wire::load(from, w::kCount);
  call.stream = wire::load(from, w::kStream);
  call.ordinal = wire::load(from, w::kOrdinal);
  call.of_function = wire::load(from, w::kOfFunction);
  call.peer = wire::load(from, w::kPeer);
  call.flags = wire::load(from, w::kFlags);
  call.thread = wire::load(from, w::kThread);
  call.site = wire::load(from, w::kSite);
  if (call.site > record.sites.size()) call.site = 0;
  return true;
}

}  // namespace

void read_collectives(std::span<const std::byte> area, const AreaRegions& regions, ProcessRecord& record) {
  record.collectives_called = wire::load_acquire(area.data(), wire::area::kCollectivesCalled);
  record.dropped_communicators = wire::load_acquire(area.data(), wire::area::kDroppedCommunicators);
  record.dropped_peers = wire::load_acquire(area.data(), wire::area::kDroppedPeers);
  if (regions.region(Region::communicators).size() < c::kSize) return;
  read_communicators(regions, record);
  if (record.communicators.empty()) return;
  read_peers(regions, record);
  const std::size_t places = regions.count(Region::collectives, w::kSize, kMostCollectives);
  const std::byte* region = regions.region(Region::collectives).data();
  for (std::size_t i = 0; i < std::min<std::uint64_t>(places, record.collectives_called); ++i) {
    const auto copy = copy_serialised<w::kSize>(region + i * w::kSize);
    if (!copy) continue;
    Collective call;
    if (!decode(copy->data(), record, call) || (call.number - 1) % places != i) {
      ++record.damaged;
      continue;
    }
    record.collectives.push_back(call);
  }
  std::ranges::sort(record.collectives, {}, &Collective::number);
}

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

namespace {

namespace wire_parameters = wire::launch_parameters;
using wire::area::Region;
using Slot = RecordCopy<wire_parameters::kSlotSize>;
constexpr std::size_t kMostCopied = 4096;  // slots; no recorder has more

// Returns the parameters of a launch; nullopt if they were overwritten. The lower half of `serial` is enough to find
// the slot, because the number of slots is a power of 2.
std::optional<Slot> slot_of(std::span<const std::byte> slots, std::uint32_t thread, std::uint64_t serial) {
  const std::size_t per_thread = slots.size() / wire_parameters::kSlotSize / wire_parameters::kThreads;
  if (thread >= wire_parameters::kThreads || per_thread == 0) return std::nullopt;
  const std::size_t place = thread * per_thread + serial % per_thread;
  const auto slot =
      copy_serialised<wire_parameters::kSlotSize, std::uint32_t>(slots.data() + place * wire_parameters::kSlotSize);
  const bool is_it = slot && wire::load(slot->data(), wire_parameters::kSerial) == static_cast<std::uint32_t>(serial);
  return is_it ? slot : std::nullopt;
}

class Reader {
 public:
  Reader(const AreaRegions& regions, ProcessRecord& record)
      : layouts_(regions.region(Region::layouts)), slots_(regions.region(Region::parameters)), record_(record) {}

  void add(const Operation& operation) {
    const auto slot = slot_of(slots_, operation.thread, operation.serial);
    if (!slot) return;
    Arguments arguments{operation.serial, operation.thread, wire::load(slot->data(), wire_parameters::kFlags), {}};
    const std::size_t bytes = wire::load(slot->data(), wire_parameters::kBytes);
    if (bytes > wire_parameters::kMostBytes || !add_parameters(*slot, bytes, arguments)) {
      ++record_.damaged;
      return;
    }
    record_.arguments.push_back(std::move(arguments));
  }

 private:
  static constexpr std::size_t kLongPart = 128;  // bytes

  // Returns false if the layout is invalid.
  bool add_parameters(const Slot& slot, std::size_t bytes, Arguments& arguments) const {
    const char* values = reinterpret_cast<const char*>(slot.data()) + wire_parameters::kValues;
    const std::uint32_t layout = wire::load(slot.data(), wire_parameters::kLayout);
    if (layout == 0) {
      arguments.flags |= wire::intern::kBuffer;
      if (bytes > 0) arguments.parameters.push_back({0, std::string(values, bytes)});
      return true;
    }
    const auto count = number(layout);
    if (!count) return false;
    std::size_t end = 0;
    for (std::uint32_t i = 0; i < *count; ++i) {
      const auto offset = number(layout + 1 + 2 * i), size = number(layout + 2 + 2 * i);
      // Rejects parameters that overlap or are empty. Without this check, a few bytes could stand for a huge number of
      // parameters.
      if (!offset || !size || *offset < end || *size == 0) return false;
      end = std::size_t{*offset} + *size;
      if (end > bytes) {
        // The beginning of a long structure, such as the message of PyTorch's assertions, is worth keeping.
        if (bytes >= *offset + kLongPart) {
          arguments.parameters.push_back({*offset, std::string(values + *offset, bytes - *offset)});
        }
        return (arguments.flags & wire::intern::kCut) != 0;
      }
      arguments.parameters.push_back({*offset, std::string(values + *offset, *size)});
    }
    return true;
  }

  std::optional<std::uint16_t> number(std::size_t index) const {
    std::uint16_t value = 0;
    if (index >= layouts_.size() / sizeof value) return std::nullopt;
    std::memcpy(&value, layouts_.data() + index * sizeof value, sizeof value);
    return value;
  }

  std::span<const std::byte> layouts_, slots_;
  ProcessRecord& record_;
};

}  // namespace

// Adds the contents of a copy, if the area has the copy's own record.
void read_copied(const std::byte* bytes, ProcessRecord& record) {
  namespace copied = wire_parameters::copied;
  const auto slot = copy_serialised<copied::kSlotSize>(bytes);
  if (!slot) return;
  const std::uint64_t serial = wire::load(slot->data(), copied::kSerial);
  const std::uint32_t thread = wire::load(slot->data(), copied::kThread);
  const auto of_copy = [&](const Operation& operation) {
    return operation.thread == thread && operation.serial == serial && operation.kind == wire::operation::Kind::copy;
  };
  const auto copy = std::ranges::find_if(record.operations, of_copy);
  const std::size_t size = wire::load(slot->data(), copied::kBytes);
  if (copy == record.operations.end()) return;
  if (size > copied::kMostBytes || size > copy->argument) return void(++record.damaged);
  Arguments arguments{serial, thread, size < copy->argument ? wire::intern::kCut : 0u, {}};
  arguments.parameters.push_back(
      {0, std::string(reinterpret_cast<const char*>(slot->data()) + copied::kContents, size)});
  record.arguments.push_back(std::move(arguments));
}

void read_launch_parameters(const AreaRegions& regions, ProcessRecord& record) {
  Reader reader(regions, record);
  for (const Operation& operation : record.operations) {
    if (operation.kind == wire::operation::Kind::kernel && (operation.flags & wire::operation::kCaptured) == 0) {
      reader.add(operation);
    }
  }
  constexpr std::size_t kSlotSize = wire_parameters::copied::kSlotSize;
  const auto copied = regions.region(Region::copied);
  for (std::size_t i = 0; i < regions.count(Region::copied, kSlotSize, kMostCopied); ++i) {
    read_copied(copied.data() + i * kSlotSize, record);
  }
}

std::string parameter_bytes(const AreaRegions& regions, std::uint32_t thread, std::uint32_t serial) {
  const auto slot = slot_of(regions.region(Region::parameters), thread, serial);
  if (!slot) return "";
  const std::size_t bytes = wire::load(slot->data(), wire_parameters::kBytes);
  if (bytes > wire_parameters::kMostBytes) return "";
  return {reinterpret_cast<const char*>(slot->data()) + wire_parameters::kValues, bytes};
}

}  // namespace cudadiag::session
