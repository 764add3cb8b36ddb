// Writes the records that precede a copy's record. They list the parts of a batch, and say whether the copy's source is
// watched.
#include <string.h>

#include <algorithm>
#include <array>
#include <utility>

#include "record/memory/race_records.h"

namespace cudadiag::record {

namespace operation = wire::operation;
namespace race = wire::race;
using operation::Kind;

// ---- batches

void RaceRecords::copy_part(ThreadState& thread, const Call& call, race::SourceOrder order) {
  if (call.rows != 1) before_rows(thread, call);
  std::byte* record = begin_at_call(thread, Kind::graph_node);
  wire::store(record, race::kWord1, call.destination);
  wire::store(record, race::kWord2, call.source);
  wire::store(record, race::kWord3, call.argument);
  wire::store(record, race::kNodeType, std::uint32_t{order});
  publish(thread, record);
}

namespace {

race::SourceOrder order_by(CUmemcpySrcAccessOrder order) {
  return order == CU_MEMCPY_SRC_ACCESS_ORDER_ANY               ? race::kAnyTime
         : order == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL ? race::kDuringCall
                                                               : race::kInStreamOrder;
}

// attrs[k] applies to the copies from attrsIdxs[k] up to, but not including, attrsIdxs[k + 1].
template <typename Parameters>
race::SourceOrder order_of_copy(const Parameters& p, std::size_t copy) {
  if (p.attrs == nullptr || p.attrsIdxs == nullptr) return race::kInStreamOrder;
  std::size_t which = p.numAttrs;
  while (which > 0 && p.attrsIdxs[which - 1] > copy) --which;
  return which == 0 ? race::kInStreamOrder : order_by(p.attrs[which - 1].srcAccessOrder);
}

// Returns true if the driver must read all sources in stream order. If not, it may read a source at any time, even
// before the call returns.
template <typename Parameters>
bool reads_in_order(const Parameters& p) {
  bool in_order = true;
  for (std::size_t i = 0; p.attrs != nullptr && i < p.numAttrs; ++i) {
    in_order &= p.attrs[i].srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  }
  return in_order;
}

}  // namespace

template <typename Parameters>
void RaceRecords::copies(ThreadState& thread, const void* parameters) {
  const auto& p = *static_cast<const Parameters*>(parameters);
  if (p.dsts == nullptr || p.srcs == nullptr || p.sizes == nullptr) return;
  for (std::size_t i = 0; i < p.count && i < race::kMostParts; ++i) {
    Call call;
    call.destination = p.dsts[i];
    call.source = p.srcs[i];
    call.argument = p.sizes[i];
    copy_part(thread, call, order_of_copy(p, i));
  }
}

namespace {

// Row widths are in bytes only if neither side is an array. If one side is an array, the shape stays unknown (`rows` is
// 0), and only the other side has an address.
void read_box(const CUDA_MEMCPY3D_BATCH_OP& box, Call& call) {
  const auto of_memory = [](const CUmemcpy3DOperand& operand) {
    return operand.type == CU_MEMCPY_OPERAND_TYPE_POINTER;
  };
  const bool dense = of_memory(box.dst) && of_memory(box.src);
  const auto place = [&](const CUmemcpy3DOperand& operand, std::uint64_t& address, std::uint64_t& pitch) {
    if (!of_memory(operand)) return true;
    address = operand.op.ptr.ptr;
    pitch = operand.op.ptr.rowLength != 0 ? operand.op.ptr.rowLength : box.extent.width;
    const std::size_t layer = operand.op.ptr.layerHeight;
    return box.extent.depth == 1 || layer == 0 || layer == box.extent.height;
  };
  const bool to = place(box.dst, call.destination, call.destination_pitch);
  const bool from = place(box.src, call.source, call.source_pitch);
  call.width = box.extent.width;
  call.rows = dense && to && from ? static_cast<std::uint32_t>(box.extent.height * box.extent.depth) : 0;
  call.argument = dense ? box.extent.width * box.extent.height * box.extent.depth : 0;
}

}  // namespace

template <typename Parameters>
void RaceRecords::boxes(ThreadState& thread, const void* parameters) {
  const auto& p = *static_cast<const Parameters*>(parameters);
  for (std::size_t i = 0; p.opList != nullptr && i < p.numOps && i < race::kMostParts; ++i) {
    Call call;
    read_box(p.opList[i], call);
    box_sides(thread, p.opList[i]);
    copy_part(thread, call, order_by(p.opList[i].srcAccessOrder));
  }
}

void RaceRecords::before_batch(ThreadState& thread, std::uint32_t id, const void* parameters) {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_ptsz:
      return copies<cuMemcpyBatchAsync_params>(thread, parameters);
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_v2_ptsz:
      return copies<cuMemcpyBatchAsync_v2_params>(thread, parameters);
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync_ptsz:
      return boxes<cuMemcpy3DBatchAsync_params>(thread, parameters);
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DBatchAsync_v2_ptsz:
      return boxes<cuMemcpy3DBatchAsync_v2_params>(thread, parameters);
    default:
      return;
  }
}

// ---- sources in pinned memory

namespace {

constexpr std::size_t kMostSources = 64;  // limit per batch; more sources are not watched

struct Sources {
  std::array<SourceRows, kMostSources> rows;
  std::size_t count = 0;
};

void add_source(const PinnedRanges& pinned, const SourceRows& from, Sources& to) {
  if (to.count == kMostSources || from.width == 0 || from.rows == 0) return;
  if (pinned.contain(from.address, from.end())) to.rows[to.count++] = from;
}

template <typename Parameters>
void add_sources(const PinnedRanges& pinned, const void* parameters, Sources& to) {
  const auto& p = *static_cast<const Parameters*>(parameters);
  if (p.dsts == nullptr || p.srcs == nullptr || p.sizes == nullptr || !reads_in_order(p)) return;
  for (std::size_t i = 0; i < p.count; ++i) {
    const std::uint64_t target = p.dsts[i];
    if (!pinned.contain(target, target + 1)) add_source(pinned, {p.srcs[i], p.sizes[i], 0, 1}, to);
  }
}

// Finds the pinned memory that the copy reads in stream order. Ignores copies from host memory to host memory, which
// have finished when the call returns.
void find_sources(const PinnedRanges& pinned, const RaceRecords::Copy& copy, Sources& to) {
  const Call& call = copy.call;
  switch (copy.id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_ptsz:
      return add_sources<cuMemcpyBatchAsync_params>(pinned, copy.parameters, to);
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyBatchAsync_v2_ptsz:
      return add_sources<cuMemcpyBatchAsync_v2_params>(pinned, copy.parameters, to);
    default:
      break;
  }
  if (call.source == 0 || pinned.contain(call.destination, call.destination + 1)) return;
  if (call.rows == 1) return add_source(pinned, {call.source, call.argument, 0, 1}, to);
  add_source(pinned, {call.source, call.width, call.source_pitch, call.rows}, to);
}

// Returns true if the copy may involve pageable memory. The driver copies pageable memory through its own buffer, and
// may first wait for the stream.
bool may_wait(const PinnedRanges& pinned, const RaceRecords::Copy& copy) {
  switch (copy.id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoDAsync_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoDAsync_v2_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyPeerAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpyPeerAsync_ptsz:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DPeerAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemcpy3DPeerAsync_ptsz:
      return false;
    default:
      return !pinned.contain(copy.call.source, copy.call.source + 1) &&
             !pinned.contain(copy.call.destination, copy.call.destination + 1);
  }
}

}  // namespace

void RaceRecords::before_copy(ThreadState& thread, const Copy& copy) {
  if (!samples()) {
    before_batch(thread, copy.id, copy.parameters);
    before_arrays(thread, copy.id, copy.parameters);
  }
  // Calls that wait are handled by call_begins().
  if (!sources_.on() || copy.waits) return;
  Sources sources;
  find_sources(sources_.pinned(), copy, sources);
  if (sources.count == 0) {
    if (!samples() && may_wait(sources_.pinned(), copy)) wait_begins(thread);
    return;
  }
  if (thread.open.stream == Streams::kNone || streams_->capture_going_on()) return;
  if (samples()) {
    if (!sources_.is_due(thread.open.site) || !targets_are_on_device(copy)) return;
    std::array<CopySources::Sampled, kMostSources> sampled;
    for (std::size_t i = 0; i < sources.count; ++i) sampled[i] = {sources.rows[i], 0, 0};
    return watch_sampled(thread, sampled.data(), sources.count);
  }
  const CUstream stream = streams_->handle(thread.open.stream);
  const std::uint64_t number =
      sources_.watch({thread.open.site, thread.index}, stream, sources.rows.data(), sources.count);
  if (number != 0) source_watched(thread, number);
}

void RaceRecords::source_watched(ThreadState& thread, std::uint64_t number) {
  std::byte* record = begin_at_call(thread, Kind::source_watched);
  wire::store(record, race::kWord0, number);
  publish(thread, record);
}

// ---- copies in graphs

void RaceRecords::before_graph(ThreadState& thread, CUgraphExec exec) {
  if (!sources_.on()) return;
  host_memory_.remove_ended(exec, [&](const HostUse& use) {
    const CapturedMemory::End end = captured_.end_of(use.memory);
    if (end.how == race::Ended::no) return false;
    std::byte* record = begin_at_call(thread, Kind::graph_node);
    wire::store(record, operation::kSite, static_cast<std::uint16_t>(use.site <= 0xffff ? use.site : 0));
    wire::store(record, race::kNode, use.index);
    wire::store(record, race::kNodeType, use.type | race::kHasEnded);
    wire::store(record, race::kWord0, reinterpret_cast<std::uint64_t>(exec));
    wire::store(record, race::kWord1, use.address);
    wire::store(record, race::kWord2,
                static_cast<std::uint64_t>(end.how) | (use.is_source ? std::uint64_t{race::kIsSource} : 0) << 32 |
                    std::uint64_t{end.frame} << 40);
    wire::store(record, race::kWord3, end.below);
    publish(thread, record);
    return true;
  });
  GraphHostMemory::Launched launched;
  host_memory_.launched(exec, launched);
  if (launched.traits.runs_host_functions) before_host_function();
  watch_to_end(thread, launched.rows.data(), launched.count);
}

// ---- host memory that kernels read

// Which bytes the kernel reads is known only later, so all bytes after each pointer are compared.
void RaceRecords::watch_kernel(ThreadState& thread, const ParameterWords::Found& found) {
  constexpr std::size_t kMostWatched = 8;
  std::array<SourceRows, kMostWatched> sources;
  std::size_t count = 0;
  for (std::size_t i = 0; i < found.count && count < kMostWatched; ++i) {
    const std::uint64_t begin = found.words[i].value, end = sources_.pinned().end_around(begin);
    const bool known = std::any_of(sources.begin(), sources.begin() + count,
                                   [&](const SourceRows& each) { return begin >= each.address && begin < each.end(); });
    if (end != 0 && !known) sources[count++] = {begin, end - begin, 0, 1};
  }
  watch_to_end(thread, sources.data(), count);
}

void RaceRecords::watch_to_end(ThreadState& thread, const SourceRows* sources, std::size_t count) {
  if (count == 0 || thread.open.stream == Streams::kNone || streams_->capture_going_on()) return;
  const CUstream stream = streams_->handle(thread.open.stream);
  thread.watched = sources_.watch({thread.open.site, thread.index}, stream, sources, count, CopySources::Until::end);
  if (thread.watched != 0) source_watched(thread, thread.watched);
}

void RaceRecords::watched_issued(ThreadState& thread, bool ok) {
  if (samples()) {
    const OpenOperation& open = thread.open;
    const bool marked = (open.flags & operation::kMarked) != 0 && (open.flags & operation::kContended) == 0;
    sources_.issued(std::exchange(thread.watched, 0), {open.stream, open.ordinal}, ok && marked);
    return;
  }
  const CUstream stream = ok ? streams_->handle(thread.open.stream) : nullptr;
  sources_.ends(thread.watched, ok ? &stream : nullptr);
  thread.watched = 0;
}

// The change happened before the call at `site`, unless that is 0.
void RaceRecords::record_changes(ThreadState& thread, std::uint32_t site) {
  const auto number = [](std::uint32_t each) { return static_cast<std::uint16_t>(each <= 0xffff ? each : 0); };
  CopySources::Change change;
  while (sources_.take_change(change)) {
    if (samples()) {
      keep_change(change);
      continue;
    }
    if (change.changed == 0 && change.thread == thread.index) change.changed = site;
    if (change.unchanged == 0 || change.changed == 0) change.unchanged = change.changed = 0;
    std::byte* record = begin(thread, Kind::source_changed, operation::kNoStream);
    const int what = (change.while_held ? race::kWhileHeld : 0) | (change.sampled ? race::kSampled : 0) |
                     (change.after_begin ? race::kAfterBegin : 0) | (change.others_ran ? race::kOthersRan : 0);
    wire::store(record, race::kWord0, change.number);
    wire::store(record, race::kWord1, change.begin);
    wire::store(record, race::kWord2, change.end);
    wire::store(record, race::kWord3, change.bytes);
    wire::store(record, race::kOffset0, static_cast<std::uint16_t>(what));
    wire::store(record, race::kOffset1, number(change.unchanged));
    wire::store(record, race::kOffset2, number(change.changed));
    publish(thread, record);
  }
}

void RaceRecords::call_entered(ThreadState& thread, std::uint32_t site, Kind kind) {
  thread.call_site = site;
  if (samples() && kind == Kind::kernel) {
    thread.call_site = 0;
    return sources_.pass_by(thread.index);
  }
  if (compares(thread)) sources_.compare_by({site, thread.index}, CopySources::At::enter, kind != Kind::none);
  if (sources_.has_changes()) record_changes(thread, site);
}

// Compares before the changes are recorded: the call itself may have issued the work.
void RaceRecords::call_left(ThreadState& thread) {
  if (thread.call_site != 0 && compares(thread)) {
    sources_.compare_by({thread.call_site, thread.index}, CopySources::At::exit);
  }
  thread.call_site = 0;
  if (sources_.has_changes()) record_changes(thread, 0);
}

// ---- calls in which the program may wait

namespace {

// After such a call, others may write to memory that kernels wait for: another process, another device, or the host at
// another address. Calls without a rule may issue work that is not seen.
bool may_order_unseen(const CallRule& rule, const char* name) {
  if (name == nullptr) return true;
  const auto has = [name](const char* part) { return strstr(name, part) != nullptr; };
  constexpr const char* kShares[] = {"Ipc",        "External",    "Shareable", "PoolExport",
                                     "PoolImport", "MemCreate",   "Multicast", "HandleForAddressRange",
                                     "Graphics",   "EGL",         "VDPAU",     "PointerSetAttribute",
                                     "GetManaged", "HostRegister"};
  constexpr const char* kIssues[] = {"Wait", "MemOp", "Launch", "Memcpy", "Memset", "Callback", "Async"};
  return std::ranges::any_of(kShares, has) || (rule.role == Role::watched && std::ranges::any_of(kIssues, has));
}

}  // namespace

void RaceRecords::call_begins(ThreadState& thread, std::uint32_t id, const CallRule& rule,
                              const CUpti_CallbackData& data) {
  const void* parameters = data.functionParams;
  if (!samples()) image_gone(thread, id, parameters, data.contextUid);
  if (!sources_.on()) return;
  if (!samples()) wait_begins(thread);
  if (samples() && may_order_unseen(rule, data.functionName))
    return compare_no_more(data.functionName == nullptr ? "an unknown call" : data.functionName);
  const MemoryCall::What what = memory_call(id);
  if (what == MemoryCall::What::frees) {
    const std::uint64_t begin = decode_memory_call(id, parameters).address;
    sources_.forget(begin, sources_.pinned().gone(begin));
  }
  const bool of_contexts = rule.ends_stream && rule.decode == nullptr;
  if (rule.ends_context || of_contexts) context_ends();
}

void RaceRecords::context_ends() {
  sources_.pinned().clear();
  sources_.forget_all();
}

void RaceRecords::process_ends(ThreadState* thread) {
  if (!sources_.on()) return;
  if (samples()) sources_.settle_all();
  sources_.end();
  if (thread != nullptr) record_changes(*thread, 0);
}

void RaceRecords::wait_begins(ThreadState& thread) {
  if (thread.waits) return;
  thread.waits = true;
  sources_.wait_begins();
}

}  // namespace cudadiag::record
