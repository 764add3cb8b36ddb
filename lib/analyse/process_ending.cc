#include "analyse/process_ending.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyse/error_codes.h"
#include "analyse/stream_history.h"

namespace cudadiag::analyse {

bool Ending::killed() const {
  constexpr int kFromOutside[] = {SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGTERM, SIGALRM, SIGXCPU, SIGUSR1, SIGUSR2};
  return std::ranges::find(kFromOutside, signal) != std::end(kFromOutside);
}

Ending ending(const session::ProcessEnd& end) {
  Ending result;
  if (end.signal) {
    result.known = result.bad = true;
    result.signal = *end.signal;
    result.text = fmt::format("signal {}", *end.signal);
  } else if (end.code) {
    result.known = true;
    result.status = *end.code;
    result.bad = result.status != 0;
    result.text = fmt::format("status {}", *end.code);
  }
  return result;
}

Ending own_ending(const session::Process& process) {
  if (process.end) return ending(*process.end);
  return process.record.exit_status ? ending({process.record.exit_status, std::nullopt}) : Ending{};
}

Ending ending_of(const session::Session& session, const session::Process& process) {
  const auto& passes = session.manifest.passes;
  const Ending command = passes.empty() ? Ending{} : ending(passes.front().end);
  Ending result = own_ending(process);
  if (!result.known && !session.manifest.outlived_by.contains(process.pid)) {
    result = command;
    result.of_process = passes.empty();
  }
  result.command_succeeded = command.known && !command.bad;
  return result;
}

// A shell exits with 128 plus the signal that killed its command.
bool may_have_crashed_at_dump(const session::Session& session, const session::Process& process) {
  const Ending end = ending_of(session, process);
  const bool crashed = end.signal == SIGSEGV || (!end.of_process && end.status == 128 + SIGSEGV);
  return crashed && process.record.state == wire::area::State::recording && session::awaited_core_dump(process.record);
}

namespace {

using session::FailedCall;
using session::ProcessRecord;

constexpr std::uint64_t kEver = ~std::uint64_t{0};

// Returns whether some thread that satisfies `is_one` queued GPU work after the error.
template <typename IsOne>
bool went_on(const ProcessRecord& record, const FailedCall& error, const IsOne& is_one) {
  return std::ranges::any_of(record.operations, [&](const session::Operation& operation) {
    return operation.ticks > error.ticks && operation.thread < record.threads.size() &&
           is_one(record.threads[operation.thread].tid) && was_queued(operation);
  });
}

// Returns whether the main thread queued GPU work, or made another call that failed, after an error in another thread.
// If so, the program may have handled the error, or the main thread may have raised it again later.
bool main_thread_went_on(const ProcessRecord& record, const FailedCall& error) {
  if (error.tid == record.pid) return false;
  const auto failed = [&](const FailedCall& other) {
    return other.ticks > error.ticks && other.tid == record.pid && is_worth_looking_at(other, record);
  };
  return went_on(record, error, [&](std::uint32_t tid) { return tid == record.pid; }) ||
         std::ranges::any_of(record.errors, failed);
}

// Returns whether another thread queued GPU work after an error in a worker thread. Returns false for an error in the
// main thread, because the program ends with that thread even if its workers continue.
bool others_went_on(const ProcessRecord& record, const FailedCall& error) {
  return error.tid != record.pid && went_on(record, error, [&](std::uint32_t tid) { return tid != error.tid; });
}

// Returns whether Python exited with a status other than 1, the status after an uncaught exception. The program then
// chose to exit, perhaps because of something other than `error`.
bool python_chose_to_end(const ProcessRecord& record, const FailedCall& error, const Ending& end) {
  constexpr int kUncaught = 1;
  const session::Site* site = session::by_id(record.sites, error.site);
  return end.signal == 0 && end.status != kUncaught && site != nullptr && site->python != 0;
}

double lived_on(const ProcessRecord& record, const FailedCall& error) {
  // Seconds that a program may take to exit after an error: it prints a traceback, closes files, waits for workers.
  constexpr double kWayOut = 10;
  if (record.clock_last <= error.ticks) return 0;  // unknown
  const double seconds = record.seconds(record.clock_last) - record.seconds(error.ticks);
  return seconds > kWayOut ? seconds : 0;
}

// Returns the doubt raised by what happened after the error: how the process continued, and how it ended.
ExitDoubt doubt_of_what_followed(const FailedCall& error, const ProcessRecord& record, const Ending& end) {
  const auto handled = [](const char* why) { return ExitDoubt{Fact::may_be_handled, 0, why, true}; };
  if (was_given_memory(record, error, kEver)) return handled("; a later allocation of its thread succeeded");
  if (end.signal == 0 && main_thread_went_on(record, error)) return handled("; the main thread continued in between");
  if (python_chose_to_end(record, error, end)) {
    return handled("; Python exits with status 1 after an uncaught exception");
  }
  if (end.signal == 0 && !record.exit_status && record.state == wire::area::State::recording) {
    return {Fact::may_be_handled, 0, "; it ended without exit(), or replaced itself with another program (exec)"};
  }
  if (error.flags & wire::error::kAskedBefore) {
    return {Fact::went_on, 0, "; its thread had already queried this error, and continued"};
  }
  if (others_went_on(record, error)) return {Fact::went_on, 0, "; other threads continued in between"};
  return {};
}

}  // namespace

ExitDoubt exit_doubt(const FailedCall& error, const ProcessRecord& record, const Ending& end) {
  if (!end.of_process) return {Fact::may_be_handled, 0, "; it is unknown how this process ended"};
  ExitDoubt doubt = doubt_of_what_followed(error, record, end);
  doubt.lived_on = lived_on(record, error);
  if (doubt.lived_on > 0 && !doubt.fact) doubt.fact = Fact::went_on;
  return doubt;
}

bool was_given_memory(const ProcessRecord& record, const FailedCall& error, std::uint64_t until) {
  return std::ranges::any_of(record.allocations, [&](const session::Allocation& memory) {
    return memory.made > error.ticks && memory.made < until && memory.thread == error.thread;
  });
}

}  // namespace cudadiag::analyse
