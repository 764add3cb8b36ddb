#include "record/rerun/exclusive_wait.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "record/libc_substitutes.h"

namespace cudadiag::record {

namespace area = wire::area;

namespace {

// A thread waits at the gate for at most this many times the time limit of one operation, then continues anyway.
constexpr std::uint64_t kTurns = 4;

// Spins at first, because a short kernel finishes within a few polls. Then sleeps, so that other threads can use the
// core.
void pause(std::uint32_t& polls) {
  constexpr std::uint32_t kSpins = 64;
  if (++polls <= kSpins) return;
  const Uncancelled uncancelled;
  const timespec moment = {0, polls < 1024 ? 20'000 : 500'000};
  nanosleep(&moment, nullptr);
}

}  // namespace

struct ExclusiveWait::Wait {
  CUcontext context;
  CUstream stream;
  std::uint32_t index;
  std::uint32_t ordinal;
  bool foreign;  // true for another thread's default stream, for which this thread has no handle
};

void ExclusiveWait::attach(AreaMap& map, Interner& interner, const DriverApi& driver, Streams& streams,
                           Failures& failures, LaunchArguments& arguments) {
  area_ = &map;
  interner_ = &interner;
  driver_ = &driver;
  streams_ = &streams;
  failures_ = &failures;
  arguments_ = &arguments;
}

void ExclusiveWait::start(std::uint32_t patience) {
  patience_ = std::uint64_t{patience} * 1'000'000u;
  on_.store(driver_->stream_query != nullptr && driver_->ctx_push_current != nullptr &&
            driver_->ctx_pop_current != nullptr && driver_->ctx_get_current != nullptr);
}

bool ExclusiveWait::expired(std::uint64_t deadline) const {
  return !on() || failures_->frozen() || (nanoseconds(CLOCK_MONOTONIC) > deadline && !is_dumping());
}

bool ExclusiveWait::is_dumping() const {
  const Uncancelled uncancelled;
  return dump_ != nullptr && ::access(dump_, F_OK) == 0;
}

void ExclusiveWait::device_failed() {
  const ThreadState* thread = alone_.exchange(nullptr);
  if (thread == nullptr) return;
  arguments_->keep(thread->index, thread->serial);
  // Only the dump shows the error.
  if (saver_ != nullptr) saver_->failed(CUDA_ERROR_LAUNCH_FAILED);
}

void ExclusiveWait::give_up(const char* what) {
  if (failures_->frozen() || !on_.exchange(false)) return;
  char text[256];
  snprintf(text, sizeof text, "%s within %.1f s, so the rerun waited for no further operations", what,
           static_cast<double>(patience_) * 1e-9);
  interner_->note("wait-given-up", text);
}

// ---- the gate

void ExclusiveWait::pass(ThreadState& thread) {
  if (pass()) thread.turn = Turn::passing;
}

bool ExclusiveWait::pass() {
  if (!on()) return false;
  std::uint32_t polls = 0;
  const std::uint64_t deadline = nanoseconds(CLOCK_MONOTONIC) + kTurns * patience_;
  for (;;) {
    passing_.fetch_add(1);
    if (!closed_.load()) break;
    passing_.fetch_sub(1);
    if (expired(deadline)) return false;
    pause(polls);
  }
  return true;
}

void ExclusiveWait::end_turn(ThreadState& thread) {
  if (thread.turn == Turn::passing) passing_.fetch_sub(1);
  if (thread.turn == Turn::alone) {
    if (nodes_ != nullptr) nodes_->restore();
    alone_.store(nullptr);
    closed_.store(false);
  }
  thread.turn = Turn::none;
}

bool ExclusiveWait::begin(ThreadState& thread) {
  std::uint32_t polls = 0;
  bool open = false;
  const std::uint64_t turn_by = nanoseconds(CLOCK_MONOTONIC) + kTurns * patience_;
  while (!closed_.compare_exchange_strong(open, true)) {
    open = false;
    if (expired(turn_by)) return false;
    pause(polls);
  }
  thread.turn = Turn::alone;
  const std::uint64_t deadline = nanoseconds(CLOCK_MONOTONIC) + patience_;
  while (passing_.load() > 0 && !expired(deadline)) pause(polls);
  if (passing_.load() > 0) give_up("calls on other threads did not return");
  if (on() && !failures_->frozen() && streams_->capture_going_on() && !noted_capture_.exchange(true)) {
    interner_->note("wait-left-out", "the rerun did not wait for operations while a stream was being captured");
  }
  if (on() && !failures_->frozen() && !streams_->capture_going_on()) {
    std::uint32_t stream = Streams::kNone;
    const CUresult result = drain(thread, deadline, stream);
    if (result == CUDA_SUCCESS) {
      area_->count(area::kWaits);
      alone_.store(&thread);
      return true;
    }
    if (result == CUDA_ERROR_NOT_READY) give_up("earlier operations did not finish");
    report(thread, result, stream, 0);
  }
  leave(thread);
  return false;
}

// ---- waiting

CUresult ExclusiveWait::ask(const Wait& wait) const {
  CUcontext current = nullptr;
  if (driver_->ctx_get_current(&current) != CUDA_SUCCESS) return CUDA_ERROR_NOT_READY;
  const RelaxedCapture relaxed(*driver_);
  if (current == wait.context) return driver_->stream_query(wait.stream);
  if (driver_->ctx_push_current(wait.context) != CUDA_SUCCESS) return CUDA_ERROR_NOT_READY;
  const CUresult result = driver_->stream_query(wait.stream);
  driver_->ctx_pop_current(&current);
  return result;
}

CUresult ExclusiveWait::wait_for(const Wait& wait, std::uint64_t deadline) {
  std::uint32_t polls = 0;
  while (!streams_->finished(wait.index, wait.ordinal)) {
    const CUresult result = wait.foreign ? CUDA_ERROR_NOT_READY : ask(wait);
    if (result == CUDA_SUCCESS) {
      streams_->completed(wait.index, wait.ordinal);
    } else if (result != CUDA_ERROR_NOT_READY) {
      return result;
    } else if (expired(deadline)) {
      return CUDA_ERROR_NOT_READY;
    }
    if (result != CUDA_SUCCESS) pause(polls);
  }
  return CUDA_SUCCESS;
}

CUresult ExclusiveWait::finish(CUstream stream) const {
  std::uint32_t polls = 0;
  const std::uint64_t deadline = nanoseconds(CLOCK_MONOTONIC) + patience_;
  for (;;) {
    const CUresult result = driver_->stream_query(stream);
    if (result != CUDA_ERROR_NOT_READY || expired(deadline)) return result;
    pause(polls);
  }
}

CUresult ExclusiveWait::drain(const ThreadState& thread, std::uint64_t deadline, std::uint32_t& failed_stream) {
  CUresult outcome = CUDA_SUCCESS;
  streams_->each_unfinished([&](CUcontext context, CUstream stream, std::uint32_t flags, std::uint32_t index) {
    if (outcome != CUDA_SUCCESS) return;
    const bool foreign = (flags & wire::stream::kPerThread) != 0 && !streams_->is_default_of(index, thread.tid);
    outcome = wait_for({context, stream, index, streams_->issued(index), foreign}, deadline);
    if (outcome != CUDA_SUCCESS) failed_stream = index;
  });
  return outcome;
}

bool ExclusiveWait::wait(ThreadState& thread) {
  const OpenOperation& open = thread.open;
  CUcontext current = nullptr;
  driver_->ctx_get_current(&current);
  const Wait wait = {current, streams_->handle(open.stream), open.stream, open.ordinal, false};
  const CUresult result = wait_for(wait, nanoseconds(CLOCK_MONOTONIC) + patience_);
  if (result == CUDA_ERROR_NOT_READY) give_up("an operation did not finish");
  // Saves the parameters before the freeze, after which the launcher may read the recording at any time.
  if (is_sticky(static_cast<std::uint32_t>(result)) && alone_.exchange(nullptr) != nullptr) {
    arguments_->keep(thread.index, thread.serial);
    if (saver_ != nullptr) saver_->failed(result);
  }
  report(thread, result, open.stream, open.site);
  // After the driver's thread has frozen the recording, the record must keep saying that the operation ran alone.
  return result != CUDA_ERROR_NOT_READY || failures_->frozen();
}

void ExclusiveWait::report(ThreadState& thread, CUresult result, std::uint32_t stream, std::uint32_t site) {
  if (!is_sticky(static_cast<std::uint32_t>(result))) return;
  FailedCall failed{};
  failed.domain = wire::error::Domain::driver;
  failed.name = "cuStreamQuery";
  failed.code = static_cast<std::uint32_t>(result);
  failed.site = site;
  failed.stream = stream;
  failed.context = streams_->context_of(stream);
  failed.own_wait = true;
  failures_->add(&thread, failed);
}

}  // namespace cudadiag::record
