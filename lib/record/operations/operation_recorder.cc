#include "record/operations/operation_recorder.h"

#include <string.h>

#include <algorithm>

#include "record/libc_substitutes.h"

namespace cudadiag::record {

namespace area = wire::area;
namespace operation = wire::operation;
using operation::Kind;

namespace {

constexpr std::uint32_t kMostBlocks = 0xffff;  // limit of CUDA and of a record for a grid's second and third dimension

bool fits_record(const Call& call) {
  return call.grid[1] <= kMostBlocks && call.grid[2] <= kMostBlocks && operation::Block::fit(call.block) &&
         operation::Cluster::fit(call.cluster);
}

// Returns true for most launches: they have no clusters, and no number is 0, beyond the limits of CUDA, or close to the
// limit of its field in a record. The few operations that this takes are part of every launch.
bool is_usual(const Call& call) {
  const auto& [grid_x, grid_y, grid_z] = call.grid;
  const auto& [x, y, z] = call.block;
  const std::uint64_t threads = std::uint64_t{x} * y * z;
  return static_cast<std::int32_t>(grid_x) > 0 && threads - 1 < 1024 &&
         (((grid_y - 1) | (grid_z - 1)) >> 15 | z >> 6 | call.shared_bytes >> 18 | call.cluster[0] | call.cluster[1] |
          call.cluster[2]) == 0;
}

// Returns false for an empty launch, and for one that exceeds the limits of every GPU. The driver rejects these without
// reading their parameters, so the pointers to them may be invalid.
bool can_run(const Call& call) {
  constexpr std::uint32_t kMostThreads = 1024, kMostSharedBytes = 227u << 10;
  const auto& [x, y, z] = call.block;
  const auto fits = [](std::uint32_t size, std::uint32_t most) { return size != 0 && size <= most; };
  return fits(call.grid[0], INT32_MAX) && fits(call.grid[1], kMostBlocks) && fits(call.grid[2], kMostBlocks) &&
         fits(x, 1024) && fits(y, 1024) && fits(z, 64) && x * y * z <= kMostThreads &&
         call.shared_bytes <= kMostSharedBytes;
}

// Packs the numbers before the first store, so that the compiler need not check again whether they fit. Writes the
// largest possible value for each number that does not fit into its field.
[[gnu::noinline]] void write_unusual_launch(std::byte* record, const Call& call) {
  const auto block = operation::Block::pack(call.block);
  const auto cluster = operation::Cluster::pack(call.cluster);
  wire::store(record, operation::kGridX, call.grid[0]);
  wire::store(record, operation::kGridY, static_cast<std::uint16_t>(std::min(call.grid[1], kMostBlocks)));
  wire::store(record, operation::kGridZ, static_cast<std::uint16_t>(std::min(call.grid[2], kMostBlocks)));
  wire::store(record, operation::kBlock, block);
  wire::store(record, operation::kCluster, cluster);
  wire::store(record, operation::kSharedBytes, call.shared_bytes);
}

void write_usual_launch(std::byte* record, const Call& call) {
  // The dimensions of a usual launch fit.
  const auto pack = [](const std::uint32_t(&d)[3]) { return d[0] | d[1] << 12 | d[2] << 24; };
  static_assert(pack({1, 1, 1}) == operation::Block::pack({1, 1, 1}));
  wire::store(record, operation::kGridX, call.grid[0]);
  wire::store(record, operation::kGridY, static_cast<std::uint16_t>(call.grid[1]));
  wire::store(record, operation::kGridZ, static_cast<std::uint16_t>(call.grid[2]));
  wire::store(record, operation::kBlock, pack(call.block));
  wire::store(record, operation::kSharedBytes, call.shared_bytes);
}

}  // namespace

void OperationRecorder::start(AreaMap& area, Interner& interner, const DriverApi& driver, wire::Markers markers) {
  interner_ = &interner;
  markers_ = markers;
  streams_.attach(area, interner, driver, markers);
  arguments_.attach(interner, driver);
  exclusive_wait_.attach(area, interner, driver, streams_, failures_, arguments_);
  autograd_.attach(interner);
}

void OperationRecorder::enter(ThreadState& thread, std::uint32_t id, const CallRule& rule,
                              const CUpti_CallbackData& data, std::uintptr_t frame, bool plain) {
  RaceRecords* const races = plain ? nullptr : races_;
  const bool in_rerun = !plain && exclusive_wait_.on();
  Call call;
  rule.decode(data.functionParams, call);
  call.stream.per_thread = rule.per_thread;
  OpenOperation& open = thread.open;  // cleared at the EXIT of the previous call
  if (streams_.capture_going_on() && streams_.is_capturing(call.stream)) [[unlikely]]
    open.flags |= operation::kCaptured;
  if (!streams_.find_known(thread, call.stream, data.contextUid, open.stream)) [[unlikely]] {
    meet_stream(thread, call, data);
  }
  SiteCall site;
  if (operation::can_stand(rule.kind)) [[likely]]
    site = sites_.enter(thread, id, rule.kind, call.function, data.symbolName, frame);
  open.site = site.site;
  // An operation that waits for other work cannot run alone, because that work could not be issued meanwhile.
  if (in_rerun) [[unlikely]]
    take_turn(thread, site.armed && operation::can_fault(rule.kind));
  if (in_rerun && (open.flags & operation::kAlone) != 0) [[unlikely]]
    keep_suspect(id, rule.kind, call, data);

  const bool captured = (open.flags & operation::kCaptured) != 0;
  const bool young = site.ordinal > 0 && site.ordinal <= kDenseOperations;
  // In a rerun, other threads cannot query a per-thread default stream, so every operation on it gets a marker.
  const bool dense = (!plain && markers_ == wire::Markers::dense) || young || site.checks_its_data ||
                     (in_rerun && open.stream != Streams::kNone && streams_.thread_of(open.stream) != 0);
  if (open.stream != Streams::kNone && !captured) [[likely]] {
    const std::uint32_t marked = dense && streams_.unmarked(open.stream) > 0 ? streams_.mark(open.stream) : 0;
    open.ordinal = streams_.enter(open.stream, open.flags);
    if (marked != 0 && open.ordinal == marked + 1) open.flags |= operation::kMarkedBefore;
    open.mark = dense || is_due(thread, site.ordinal);
  }
  const bool usual = rule.kind == Kind::kernel && is_usual(call);
  const bool has_parameters = rule.kind == Kind::kernel && (usual || can_run(call));
  if (races != nullptr && !captured) [[unlikely]] {
    // Events have no site of their own.
    const bool lacks_site = site.site == 0 && races->compares(thread);
    races->call_entered(thread, lacks_site ? sites_.site_of(thread, id, rule.kind, frame) : site.site, rule.kind);
    if (races->samples() && (has_parameters || rule.kind != Kind::kernel)) {
      races->before_sampled(thread, rule.kind, {id, data.functionParams, call, rule.blocks});
    }
  }
  if (races != nullptr && !captured && !races->samples()) [[unlikely]] {
    if (has_parameters) races->before_kernel(thread, call, site.function);
    if (call.rows != 1) races->before_rows(thread, call);
    if (rule.kind == Kind::copy) races->before_copy(thread, {id, data.functionParams, call, rule.blocks});
    if (rule.kind == Kind::host_function) races->before_host_function();
    if (rule.kind == Kind::graph) races->before_graph(thread, reinterpret_cast<CUgraphExec>(call.argument));
  } else if (races != nullptr && captured && rule.kind != Kind::kernel) {
    races->captured(thread, id, data.functionParams, call, frame);
  }
  if (rule.kind == Kind::kernel && !captured) [[likely]] {
    if (has_parameters) [[likely]]
      latest_.keep(thread, call);
  } else if (rule.kind == Kind::copy && !captured) {
    tables_.keep(thread, call);
  }
  // A launch in a rerun may have waited at the gate since ENTER.
  write(thread, rule, call, {site.ordinal, usual, in_rerun});
}

// Called once all earlier work has finished. No other work is issued until this operation has finished.
void OperationRecorder::keep_suspect(std::uint32_t id, Kind kind, const Call& call, const CUpti_CallbackData& data) {
  if (kind != Kind::kernel || !can_run(call)) {
    arguments_.forget();
    if (saver_ != nullptr) saver_->passed();
    if (nodes_ != nullptr && kind == Kind::graph) save_node(call);
    return;
  }
  arguments_.read(call);
  if (saver_ != nullptr) saver_->save(id, data.functionParams, call);
}

void OperationRecorder::save_node(const Call& launch) {
  CUstream stream = launch.stream.handle;
  if (stream == nullptr) stream = launch.stream.per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
  nodes_->save(reinterpret_cast<CUgraphExec>(launch.argument), stream, exclusive_wait_);
}

void OperationRecorder::meet_stream(ThreadState& thread, const Call& call, const CUpti_CallbackData& data) {
  see_context(data);
  thread.open.stream = streams_.find(thread, call.stream, data.contextUid);
  // The stream's entry may be new. Without a new time stamp, the operation would seem older than its stream's entry.
  wire::store(thread.entry, wire::thread::kCallTicks, ticks());
}

bool OperationRecorder::is_due(const ThreadState& thread, std::uint32_t site_ordinal) const {
  const std::uint32_t unmarked = streams_.unmarked(thread.open.stream, thread.open.ordinal);
  if (unmarked < kSparseDistance) return false;
  // Without markers, the operation counts as due only where its stream needs a new entry.
  if (markers_ == wire::Markers::off) [[unlikely]]
    return thread.open.ordinal >= Streams::kLastOrdinal;
  return site_ordinal <= kSettledOperations || unmarked >= kFarDistance ||
         wire::load(thread.entry, wire::thread::kCallTicks) >= thread.next_marker;
}

bool OperationRecorder::mark(ThreadState& thread) {
  const std::uint64_t began = ticks();
  const bool marked = streams_.mark(thread.open.stream) == thread.open.ordinal;
  const std::uint64_t ended = ticks();
  thread.next_marker = ended + kPartsOfTime * (ended - began);
  return marked;
}

void OperationRecorder::take_turn(ThreadState& thread, bool armed) {
  OpenOperation& open = thread.open;
  const bool can_wait = open.stream != Streams::kNone && (open.flags & operation::kCaptured) == 0;
  if (armed && can_wait && exclusive_wait_.begin(thread)) {
    open.flags |= operation::kAlone;
  } else {
    exclusive_wait_.pass(thread);
  }
}

void OperationRecorder::write(ThreadState& thread, const CallRule& rule, const Call& call, Facts facts) {
  OpenOperation& open = thread.open;
  std::byte* record = next_record(thread, streams_);
  // Clears the whole record at once, so that the fields that this kind does not use are zero.
  memset(record + operation::kSerial.end, 0, area::kOperationSize - operation::kSerial.end);
  wire::store(record, operation::kKind, static_cast<std::uint8_t>(rule.kind));
  wire::store(record, operation::kThread, static_cast<std::uint8_t>(thread.index));
  wire::store(record, operation::kSite, static_cast<std::uint16_t>(open.site));
  wire::store(record, operation::kStream, static_cast<std::uint16_t>(open.stream));
  wire::store(record, operation::kOrdinal, open.ordinal);
  wire::store(record, operation::kSiteOrdinal, facts.site_ordinal);
  wire::store(record, operation::kTicks, facts.late ? ticks() : wire::load(thread.entry, wire::thread::kCallTicks));
  if (rule.kind == Kind::kernel) [[likely]] {
    if (facts.usual) [[likely]] {
      write_usual_launch(record, call);
    } else {
      write_unusual_launch(record, call);
      if (!fits_record(call)) open.flags |= operation::kSaturated;
    }
  } else if (operation::has_bytes(rule.kind)) {
    const std::uint64_t bytes = std::min(call.argument, operation::kMostBytes);
    if (bytes < call.argument) open.flags |= operation::kSaturated;
    wire::store(record, operation::kDestination, call.destination);
    wire::store(record, operation::kSource, call.source);
    wire::store(record, operation::kBytes, static_cast<std::uint32_t>(bytes));
    wire::store(record, operation::kBytesAbove, static_cast<std::uint8_t>(bytes >> 32));
  } else {
    wire::store(record, operation::kArgument, call.argument);
    if (rule.kind == Kind::event_sync) {
      wire::store(record, operation::kBegan, wire::load(thread.entry, wire::thread::kCallTicks));
    }
    if (rule.kind == Kind::memory_operation) {
      wire::store(record, operation::kValue, call.value);
      wire::store(record, operation::kMemoryOperation, static_cast<std::uint8_t>(call.memory_operation));
    }
  }
  const bool replays = rule.kind == Kind::graph && (open.flags & operation::kCaptured) == 0;
  StalePointers stale;
  if (replays) graphs_->write_replay(record, open, reinterpret_cast<CUgraphExec>(call.argument), stale);
  if (autograd_.ready()) {
    const AutogradState origin = autograd_.current(thread);
    wire::store(record, operation::kNumber, origin.number);
    wire::store(record, operation::kNode, origin.node);
    wire::store(record, operation::kOwnThread, thread.torch_thread);
    wire::store(record, operation::kNodeThread, origin.node_thread);
    wire::store(record, operation::kGraphTask, origin.graph_task);
    wire::store(record, operation::kNodeType, origin.node_type);
  }
  if (rule.proves_finished) open.flags |= operation::kBlocking;
  wire::store(record, operation::kFlags, open.flags);
  if (operation::has_ordinal(rule.kind)) wire::store(thread.entry, wire::thread::kOperations, ++thread.operations);
  publish(thread, record);
  open.record = record;
  if (!replays) return;
  for (const StalePointer& pointer : stale.all()) interner_->stale_pointer(thread.index, thread.serial, pointer);
}

void OperationRecorder::leave(ThreadState& thread, const CallRule& rule, std::uint32_t result, bool plain) {
  OpenOperation& open = thread.open;
  if (open.record == nullptr) return;
  const bool ok = result == CUDA_SUCCESS;
  open.flags |= operation::kReturned;
  wire::store(open.record, operation::kResult, static_cast<std::uint16_t>(std::min(result, 0xffffu)));
  if (open.ordinal != 0) [[likely]] {
    streams_.leave(open.stream, open.ordinal, open.flags);
    const bool contended = (open.flags & operation::kContended) != 0;
    if (ok && rule.proves_finished && !contended) streams_.completed(open.stream, open.ordinal);
    // Queues no marker after a failed call, because the recorder then makes no further driver calls.
    if (ok && open.mark && !rule.proves_finished) {
      const bool marked = mark(thread);
      if (marked) open.flags |= operation::kMarked;
      // Replaces the stream's entry as late as possible. After the replacement, an operation without a later marker
      // would never count as finished.
      if (open.ordinal >= (marked ? Streams::kMarkedOrdinal : Streams::kLastOrdinal)) streams_.renew(open.stream);
    }
    // If the stream is capturing now, this wait for a captured event has made it join the capture.
    if (ok && rule.kind == Kind::event_wait && streams_.capture_going_on() &&
        streams_.is_capturing({streams_.handle(open.stream), false})) [[unlikely]] {
      open.flags |= operation::kCaptured;
    }
    // Waits here, so that the record shows failure or completion before anything else can be issued.
    if (!plain && ok && (open.flags & operation::kAlone) != 0 && !exclusive_wait_.wait(thread)) {
      open.flags &= static_cast<std::uint8_t>(~operation::kAlone);
    }
  }
  if (!plain && is_sticky(result) && (open.flags & operation::kAlone) != 0) [[unlikely]] {
    arguments_.keep(thread.index, thread.serial);
    if (saver_ != nullptr) saver_->failed(static_cast<CUresult>(result));
  }
  if (operation::has_returned_at(rule.kind)) wire::store(open.record, operation::kReturnedAt, ticks());
  wire::store_release(open.record, operation::kFlags, open.flags);
  if (ok && thread.recent_errors != thread.recent_worked) failures_.worked(thread);
}

void OperationRecorder::see_context(const CUpti_CallbackData& data) {
  if (data.context == nullptr || data.contextUid == newest_context_.load(std::memory_order_relaxed)) return;
  if (streams_.context_index(data.contextUid) == Streams::kNone) {
    if (!streams_.context_created(data.context, data.contextUid)) return;
    blocking_->context_made();
  }
  newest_context_.store(data.contextUid, std::memory_order_relaxed);
}

void OperationRecorder::mark_last(const CallRule& rule, const CUpti_CallbackData& data) {
  if (rule.decode == nullptr) return;
  Call call;
  rule.decode(data.functionParams, call);
  const std::uint32_t stream = streams_.living(call.stream.handle);
  if (stream != Streams::kNone && streams_.context_of(stream) == streams_.context_index(data.contextUid) &&
      streams_.unmarked(stream) > 0 && !streams_.finished(stream, streams_.issued(stream))) {
    streams_.mark(stream);
  }
}

void OperationRecorder::note_event(ThreadState& thread, const CallRule& rule, const CUpti_CallbackData& data) {
  Call call;
  rule.decode(data.functionParams, call);
  thread.open = {};
  thread.open.stream = operation::kNoStream;
  thread.open.flags = operation::kReturned;
  write(thread, rule, call, {.late = true});
  thread.open = {};
}

}  // namespace cudadiag::record
