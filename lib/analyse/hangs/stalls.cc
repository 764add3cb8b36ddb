#include "analyse/hangs/stalls.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyse/record_horizon.h"

namespace cudadiag::analyse {
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
                      std::all_of(stall.operations.begin(), stall.operations.end(),
                                  [&](const auto& each) { return fits(each, record); });
  if (!usable) return std::nullopt;
  Failure failure;
  failure.kind = Kind::hang;
  failure.process = &process;
  failure.evidence.add(stall.certain && stall.operations.size() == 1 ? Fact::one_running : Fact::several_running);
  for (const std::string& clause : stall.because) failure.evidence.add(clause);
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
