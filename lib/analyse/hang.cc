#include "analyse/hang.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyse/rank_divergence.h"
#include "analyse/stream_history.h"
#include "analyse/unfinished_work.h"

namespace cudadiag::analyse {
namespace {

using wire::thread::Wait;

// The maximum number of candidates in a hang report.
constexpr std::size_t kMost = 16;

// Returns whether the thread is in a call that waits for the GPU to finish some work.
bool waits(const WaitingThread& thread) {
  return thread.thread->blocked.site != 0 && thread.thread->blocked.wait != Wait::none;
}

// Returns the thread that has waited longest, but prefers a thread that waits for this stream.
const WaitingThread* who_waits(const UnfinishedWork& work, const UnfinishedStream& stream) {
  const WaitingThread* found = nullptr;
  for (const WaitingThread& thread : work.threads) {
    if (thread.stream == stream.index) return &thread;
    if (found == nullptr || (!waits(*found) && waits(thread))) found = &thread;
  }
  return found;
}

// If nothing shows which stream has unfinished work: returns all streams for which a thread may be waiting.
std::vector<const UnfinishedStream*> possible_streams(const UnfinishedWork& work) {
  std::vector<const UnfinishedStream*> streams;
  if (std::ranges::none_of(work.threads, waits)) return streams;
  for (const UnfinishedStream& stream : work.streams) streams.push_back(&stream);
  return streams;
}

std::string because_one(const UnfinishedStream& stream) {
  const std::string name = stream_phrase(*stream.stream);
  const std::string finished =
      stream.completed == 0
          ? fmt::format("no operation of {} is known to have finished", name)
          : fmt::format("the first {} of {} {} finished",
                        stream.completed == 1 ? "operation" : fmt::format("{} operations", stream.completed), name,
                        stream.completed == 1 ? "has" : "have");
  return fmt::format("{}; operation {} is the only one that the stream can be executing", finished,
                     stream.candidates.front()->ordinal);
}

std::string because_several(std::size_t operations, const std::vector<const UnfinishedStream*>& streams,
                            std::uint32_t missing) {
  const std::size_t all = operations + missing;
  std::string text = all == 1 ? "1 operation" : fmt::format("any of {} operations", all);
  if (streams.size() > 1) text += fmt::format(" on {} streams", streams.size());
  const bool may_wait =
      std::ranges::any_of(streams, [](const UnfinishedStream* stream) { return stream->may_wait_for_stream(); });
  text += all == 1   ? " may be the unfinished one"
          : may_wait ? " may be the unfinished one, because streams may wait for each other"
                     : " may be the unfinished one, because no marker separates them";
  if (operations > kMost) text += fmt::format("; {} of them are not listed", operations - kMost);
  if (missing > 0) text += fmt::format("; the records of {} of them are lost", missing);
  return text;
}

std::string because(const StreamWait* wait) {
  if (wait == nullptr) return "follows the last finished operation of its stream";
  switch (wait->what) {
    case StreamWait::For::stream:
      return "it waits for another stream";
    case StreamWait::For::value:
      return wait->write == nullptr ? "it waits for a value, and no stream has queued a write of that value"
                                    : "it waits for a value whose write is queued but has not been executed";
    case StreamWait::For::semaphore:
      return "it waits for an external semaphore";
  }
  return "";
}

const StreamWait* wait_at(const UnfinishedStream& stream, const session::Operation* operation) {
  const auto found = std::ranges::find(stream.waits, operation, &StreamWait::operation);
  return found == stream.waits.end() ? nullptr : &*found;
}

// Returns the first stream with a candidate; there must be one. Other streams may have only work that cannot block,
// such as an event record.
const UnfinishedStream& first_to_stand(const std::vector<const UnfinishedStream*>& streams) {
  return **std::ranges::find_if(streams, [](const UnfinishedStream* stream) { return !stream->candidates.empty(); });
}

}  // namespace

std::optional<Failure> hang_of(const session::Process& process, const std::vector<const UnfinishedStream*>& streams,
                               const WaitingThread* waiting, double seconds) {
  Failure failure;
  failure.kind = Kind::hang;
  failure.process = &process;
  failure.hang = Standstill{};
  failure.hang->seconds = seconds;
  const IssueOrder order(process.record);
  std::size_t operations = 0;
  std::uint32_t missing = 0;
  for (const UnfinishedStream* stream : streams) {
    missing += stream->missing;
    operations += stream->candidates.size();
    // An operation that waits for another process or stream comes first, because it is the likeliest to hang. Otherwise
    // the oldest comes first.
    std::vector<const session::Operation*> candidates = stream->candidates;
    std::stable_partition(candidates.begin(), candidates.end(),
                          [&](const auto* operation) { return wait_at(*stream, operation) != nullptr; });
    for (const session::Operation* operation : candidates) {
      if (failure.candidates.size() == kMost) break;
      const StreamWait* wait = wait_at(*stream, operation);
      if (failure.candidates.empty() && wait != nullptr) failure.hang->wait = *wait;
      failure.candidates.push_back({operation, because(wait), order.ordinal(*operation)});
    }
  }
  if (failure.candidates.empty()) return std::nullopt;
  if (waiting != nullptr) {
    failure.hang->thread = waiting->thread;
    failure.hang->site = waiting->site;
    failure.hang->issues = waiting->operation;
  }
  const UnfinishedStream& first = first_to_stand(streams);
  const bool one = operations == 1 && missing == 0 && first.proven();
  failure.evidence = one ? Evidence(Fact::one_running, because_one(first))
                         : Evidence(Fact::several_running, because_several(operations, streams, missing));
  return failure;
}

std::optional<Failure> hang(const session::Process& process, double seconds) {
  if (process.record.state == wire::area::State::frozen) return std::nullopt;
  const UnfinishedWork work = unfinished_work(process.record);
  std::vector<const UnfinishedStream*> streams = standing_streams(work);
  if (streams.empty()) streams = possible_streams(work);
  const bool any =
      std::ranges::any_of(streams, [](const UnfinishedStream* stream) { return !stream->candidates.empty(); });
  return any ? hang_of(process, streams, who_waits(work, first_to_stand(streams)), seconds) : std::nullopt;
}

bool in_collective(const Failure& hang) {
  const session::ProcessRecord& record = hang.process->record;
  // Only the communicators show what sends and receives wait for.
  const bool knows = !record.communicators.empty();
  const auto is = [&](const Candidate& candidate) {
    return launches_collective(record, *candidate.operation) || (knows && launches_nccl(record, *candidate.operation));
  };
  return hang.kind == Kind::hang && std::ranges::all_of(hang.candidates, is);
}

std::optional<Failure> hang_until_end(const session::Process& process) {
  const session::ProcessRecord& record = process.record;
  auto failure = hang(process, 0);
  if (!failure || !in_collective(*failure) || failure->hang->thread == nullptr) return std::nullopt;
  std::uint64_t youngest = 0;
  for (const Candidate& candidate : failure->candidates) youngest = std::max(youngest, candidate.operation->ticks);
  const double seconds = record.seconds(record.clock_last) - record.seconds(youngest);
  if (youngest > record.clock_last || seconds < kLongForACollective) return std::nullopt;
  failure->hang->seconds = seconds;
  failure->evidence.add(fmt::format("its process ended {:.0f} s after the operation was issued", seconds));
  return failure;
}

namespace {

std::optional<session::Operation> copy_of(const session::Operation* operation) {
  if (operation == nullptr) return std::nullopt;
  session::Operation copy = *operation;
  copy.graph_words = 0;  // an index into the original record, so it is invalid in the copy
  return copy;
}

const session::Operation* address_of(const std::optional<session::Operation>& operation) {
  return operation ? &*operation : nullptr;
}

bool fits(const session::Operation& operation, const session::ProcessRecord& record) {
  return operation.kind != wire::operation::Kind::none && operation.stream < record.streams.size() &&
         operation.thread < record.threads.size();
}

bool fits(const std::optional<session::Operation>& operation, const session::ProcessRecord& record) {
  return !operation || fits(*operation, record);
}

std::optional<StreamWait> wait_of(const session::Stall& stall) {
  using wire::operation::MemoryOperation;
  const session::Operation& operation = stall.operations.front();
  StreamWait wait{&operation, StreamWait::For::value, address_of(stall.recorded), address_of(stall.write)};
  if (operation.kind == wire::operation::Kind::event_wait) {
    wait.what = StreamWait::For::stream;
    return wait.recorded != nullptr ? std::optional(wait) : std::nullopt;
  }
  if (operation.memory_operation == MemoryOperation::wait_semaphore) wait.what = StreamWait::For::semaphore;
  const bool waits = operation.memory_operation >= MemoryOperation::wait_at_least &&
                     operation.memory_operation <= MemoryOperation::wait_semaphore;
  return waits ? std::optional(wait) : std::nullopt;
}

}  // namespace

session::Stall stall_of(const Failure& hang) {
  session::Stall stall;
  stall.pid = hang.process->pid;
  stall.started = hang.process->record.start_realtime;
  stall.seconds = hang.hang->seconds;
  stall.certain = hang.evidence.names_one();
  for (const Candidate& candidate : hang.candidates) stall.operations.push_back(*copy_of(candidate.operation));
  stall.because = hang.evidence.clauses();
  if (hang.hang->wait) {
    stall.recorded = copy_of(hang.hang->wait->recorded);
    stall.write = copy_of(hang.hang->wait->write);
  }
  if (hang.hang->thread != nullptr) {
    stall.thread = *hang.hang->thread;
    stall.site = hang.hang->site;
    stall.issues = copy_of(hang.hang->issues);
  }
  return stall;
}

std::optional<Failure> hang_again(const session::Process& process, const session::Stall& stall) {
  const session::ProcessRecord& record = process.record;
  const bool usable = !stall.operations.empty() && fits(stall.recorded, record) && fits(stall.write, record) &&
                      std::ranges::all_of(stall.operations, [&](const auto& each) { return fits(each, record); });
  if (!usable) return std::nullopt;
  Failure failure;
  failure.kind = Kind::hang;
  failure.process = &process;
  failure.evidence.add(stall.certain && stall.operations.size() == 1 ? Fact::one_running : Fact::several_running);
  for (const std::string& clause : stall.because) failure.evidence.add(clause);
  if (stall.interrupted) failure.evidence.add(Fact::may_be_slow, "it was interrupted, so it may only be slow");
  const IssueOrder order(record);
  for (const session::Operation& operation : stall.operations) {
    failure.candidates.push_back({&operation, "it may be the unfinished operation", order.ordinal(operation)});
  }
  failure.hang = Standstill{stall.seconds,  stall.thread ? &*stall.thread : nullptr,
                            stall.site,     address_of(stall.issues),
                            wait_of(stall), &stall};
  return failure;
}

bool is_of(const session::Stall& stall, const session::Process& process) {
  return stall.pid == process.pid && stall.started == process.record.start_realtime;
}

bool is_same(const session::Stall& stall, const Failure& hang) {
  if (hang.kind != Kind::hang || hang.candidates.empty() || stall.operations.empty() || !is_of(stall, *hang.process))
    return false;
  const session::Operation &first = stall.operations.front(), &other = *hang.candidates.front().operation;
  return first.thread == other.thread && first.serial == other.serial;
}

}  // namespace cudadiag::analyse
