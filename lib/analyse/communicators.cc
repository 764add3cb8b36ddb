#include "analyse/communicators.h"

#include <algorithm>
#include <map>

#include "analyse/site_keys.h"
#include "analyse/unfinished_work.h"

namespace cudadiag::analyse {
namespace {

using session::by_id;
using session::Operation;
using session::ProcessRecord;

// Finds the recorded kernel that executes a given NCCL call.
class Kernels {
 public:
  explicit Kernels(const ProcessRecord& record) {
    // Checks each name only once, because a process has thousands of launches, but few kernels.
    std::vector<bool> is_nccl;
    for (const std::string& function : record.functions) is_nccl.push_back(is_nccl_kernel(function));
    for (const Operation& operation : record.operations) {
      const session::Site* site = by_id(record.sites, operation.site);
      const bool launches = operation.kind == wire::operation::Kind::kernel && site != nullptr;
      if (!launches || site->function == 0 || site->function > is_nccl.size() || !is_nccl[site->function - 1]) continue;
      by_thread_[operation.thread].push_back(&operation);
      if (operation.stream < record.streams.size()) {
        by_stream_[record.streams[operation.stream].handle].push_back(&operation);
      }
    }
  }

  // Returns null if the kernel was not launched, or its record was overwritten. A call recorded before its launch
  // belongs to the next kernel on its stream, whichever thread launches it. Any other call belongs to the latest kernel
  // of its thread.
  const Operation* of(const session::Collective& call) const {
    if ((call.flags & wire::collective::kBeforeLaunch) != 0) {
      const auto stream = by_stream_.find(call.stream);
      if (stream == by_stream_.end()) return nullptr;
      const auto after = std::lower_bound(stream->second.begin(), stream->second.end(), call.ticks,
                                          [](const Operation* o, std::uint64_t ticks) { return o->ticks < ticks; });
      return after == stream->second.end() ? nullptr : *after;
    }
    const auto thread = by_thread_.find(call.thread);
    if (thread == by_thread_.end()) return nullptr;
    const auto after = std::upper_bound(thread->second.begin(), thread->second.end(), call.ticks,
                                        [](std::uint64_t ticks, const Operation* o) { return ticks < o->ticks; });
    return after == thread->second.begin() ? nullptr : *(after - 1);
  }

  // Returns whether the call's kernel has yet to be launched: NCCL has launched nothing on the call's stream since the
  // call.
  bool waits_for_launch(const session::Collective& call) const {
    return (call.flags & wire::collective::kBeforeLaunch) != 0 && of(call) == nullptr;
  }

 private:
  std::map<std::uint16_t, std::vector<const Operation*>> by_thread_;  // sorted by ticks
  std::map<std::uint64_t, std::vector<const Operation*>> by_stream_;  // sorted by ticks; the key is a CUstream
};

void add_calls(const ProcessRecord& record, std::size_t most, RankState& state) {
  const SiteKeys keys(record);
  std::map<std::uint32_t, wire::site_key::Key> lines;
  const std::size_t first = record.collectives.size() - std::min(most, record.collectives.size());
  for (std::size_t i = first; i < record.collectives.size(); ++i) {
    RankState::Call& call = state.calls.emplace_back();
    static_cast<session::Collective&>(call) = record.collectives[i];
    const auto [line, is_new] = lines.emplace(call.site, 0);
    if (is_new) line->second = keys.of_innermost(call.site);
    call.line = line->second;
    call.made = record.unix_seconds(call.ticks);
  }
}

void add_unfinished(const ProcessRecord& record, RankState& state) {
  const Kernels kernels(record);
  std::map<const Operation*, std::vector<std::size_t>> calls_of;
  std::vector<std::size_t> not_launched;
  for (std::size_t i = 0; i < state.calls.size(); ++i) {
    const RankState::Call& call = state.calls[i];
    if ((call.flags & wire::collective::kCaptured) != 0) continue;
    if (const Operation* kernel = kernels.of(call)) {
      calls_of[kernel].push_back(i);
    } else if (kernels.waits_for_launch(call)) {
      not_launched.push_back(i);
    }
  }
  const UnfinishedWork work = unfinished_work(record);
  for (const UnfinishedStream& stream : work.streams) {
    std::vector<std::size_t> calls;
    for (const Operation* candidate : stream.candidates) {
      const auto found = calls_of.find(candidate);
      if (found != calls_of.end()) calls.insert(calls.end(), found->second.begin(), found->second.end());
    }
    if (!calls.empty()) state.unfinished.push_back(std::move(calls));
    const std::uint32_t last = stream.candidates.empty() ? 0 : stream.candidates.back()->ordinal;
    for (const Operation* operation : stream.operations) {
      const auto found = calls_of.find(operation);
      if (last == 0 || !stream.proven() || operation->ordinal <= last || found == calls_of.end()) continue;
      for (const std::size_t call : found->second) state.calls[call].flags |= RankState::kQueued;
    }
  }
  if (!not_launched.empty()) state.unfinished.push_back(std::move(not_launched));
}

double seconds_waited(const ProcessRecord& record, std::uint16_t thread) {
  std::uint64_t latest = 0;
  for (const Operation& operation : record.operations) {
    if (operation.thread == thread) latest = std::max(latest, operation.ticks);
  }
  return record.clock_last > latest ? record.seconds(record.clock_last) - record.seconds(latest) : 0;
}

}  // namespace

bool is_nccl_kernel(std::string_view kernel) {
  return kernel.find("ncclDevKernel") != kernel.npos || kernel.find("ncclKernel") != kernel.npos ||
         kernel.find("ncclSym") != kernel.npos;
}

bool launches_nccl(const ProcessRecord& record, const Operation& operation) {
  const session::Site* site = by_id(record.sites, operation.site);
  const std::string* kernel = site == nullptr ? nullptr : by_id(record.functions, site->function);
  return operation.kind == wire::operation::Kind::kernel && kernel != nullptr && is_nccl_kernel(*kernel);
}

std::optional<RankState> rank_state(const session::Process& process, std::size_t most) {
  const ProcessRecord& record = process.record;
  if (record.communicators.empty()) return std::nullopt;
  RankState state;
  state.rank = process.rank;
  state.pid = process.pid;
  state.communicators = record.communicators;
  state.is_whole = record.dropped_communicators == 0 && record.dropped_peers == 0;
  add_calls(record, most, state);
  add_unfinished(record, state);
  if (!state.calls.empty()) state.waited = seconds_waited(record, state.calls.back().thread);
  return state;
}

}  // namespace cudadiag::analyse
