#include "record/graphs/captures.h"

#include <algorithm>

namespace cudadiag::record {

Captures::Stream Captures::stream(StreamHandle given, std::uint32_t context_uid, std::uint32_t tid) {
  CUstream handle = given.handle;
  if (handle == nullptr) handle = given.per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
  const bool shared = handle != CU_STREAM_PER_THREAD;
  return {reinterpret_cast<std::uint64_t>(handle), shared ? 0 : context_uid, shared ? 0 : tid};
}

void Captures::began(const Stream& stream, const Capture& capture) {
  const LockGuard lock(mutex_);
  if (used_ == entries_.size()) {
    std::move(entries_.begin() + 1, entries_.end(), entries_.begin());
    --used_;
  }
  entries_[used_++] = {stream, capture};
}

// Removes only the newest capture of the stream. An older capture of the stream may be the reason why the call failed.
void Captures::refused(const Stream& stream) {
  const LockGuard lock(mutex_);
  for (std::size_t i = used_; i > 0; --i) {
    if (entries_[i - 1].stream != stream) continue;
    std::move(entries_.begin() + static_cast<std::ptrdiff_t>(i), entries_.begin() + static_cast<std::ptrdiff_t>(used_),
              entries_.begin() + static_cast<std::ptrdiff_t>(i) - 1);
    --used_;
    return;
  }
}

template <typename Which>
std::size_t Captures::remove(Which which) {
  const LockGuard lock(mutex_);
  const std::size_t before = used_;
  const auto kept = std::remove_if(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(used_), which);
  used_ = static_cast<std::size_t>(kept - entries_.begin());
  return before - used_;
}

bool Captures::ended(const Stream& stream) {
  return remove([&](const Entry& entry) { return entry.stream == stream; }) > 0;
}

std::size_t Captures::context_ended(std::uint32_t context) {
  return remove([&](const Entry& entry) { return entry.capture.context == context; });
}

Capture Captures::concerned(const Stream& stream, std::uint32_t tid) const {
  const LockGuard lock(mutex_);
  const auto newest = [&](auto fits) {
    for (std::size_t i = used_; i > 0; --i) {
      if (fits(entries_[i - 1])) return entries_[i - 1].capture;
    }
    return Capture{};
  };
  Capture found = newest([&](const Entry& entry) { return entry.stream == stream; });
  if (found.began == 0) {
    found = newest([&](const Entry& entry) {
      return entry.capture.tid == tid && entry.capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    });
  }
  if (found.began == 0) {
    found = newest([](const Entry& entry) { return entry.capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL; });
  }
  return found.began != 0 ? found : newest([](const Entry&) { return true; });
}

namespace {

std::uint32_t tid_of(const ThreadState* thread) { return thread != nullptr ? thread->tid : thread_id(); }

}  // namespace

Captures::Stream CaptureRecorder::stream_of(const ThreadState* thread, const CallRule& rule,
                                            const CUpti_CallbackData& data) {
  Call call;
  if (rule.decode != nullptr) rule.decode(data.functionParams, call);
  call.stream.per_thread = rule.per_thread;
  return Captures::stream(call.stream, data.contextUid, tid_of(thread));
}

void CaptureRecorder::begin(ThreadState* thread, std::uint32_t id, const CallRule& rule, const CUpti_CallbackData& data,
                            std::uintptr_t frame) {
  // Counts the capture before the call, because the recorder must not call the driver once the capture has begun.
  streams_->capture_began();
  Call call;
  rule.decode(data.functionParams, call);
  const std::uint32_t site = thread == nullptr ? 0 : sites_->site_of(*thread, id, wire::operation::Kind::none, frame);
  const std::uint32_t known = streams_->living(call.stream.handle);
  const std::uint32_t context =
      known != Streams::kNone ? streams_->context_of(known) : streams_->context_index(data.contextUid);
  captures_.began(stream_of(thread, rule, data),
                  {ticks(), tid_of(thread), static_cast<CUstreamCaptureMode>(call.argument), site, context});
}

void CaptureRecorder::refuse(const ThreadState* thread, const CallRule& rule, const CUpti_CallbackData& data) {
  captures_.refused(stream_of(thread, rule, data));
  streams_->capture_ended();
}

void CaptureRecorder::end(const ThreadState* thread, const CallRule& rule, const CUpti_CallbackData& data,
                          std::uint32_t result) {
  // A call on the wrong thread, or on a stream other than the one on which the capture began, does not end the capture.
  if (result == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD) return;
  const bool known = captures_.ended(stream_of(thread, rule, data));
  if (known || result == CUDA_SUCCESS) streams_->capture_ended();
}

void CaptureRecorder::stream_destroyed(CUstream stream) {
  if (captures_.ended(Captures::stream({stream, false}, 0, 0))) streams_->capture_ended();
}

void CaptureRecorder::context_destroyed(std::uint32_t context) {
  if (context == Streams::kNone) return;
  for (std::size_t ended = captures_.context_ended(context); ended > 0; --ended) streams_->capture_ended();
}

Capture CaptureRecorder::concerned(const ThreadState& thread, const CallRule* rule,
                                   const CUpti_CallbackData& data) const {
  return captures_.concerned(rule == nullptr ? Captures::Stream{} : stream_of(&thread, *rule, data), thread.tid);
}

}  // namespace cudadiag::record
