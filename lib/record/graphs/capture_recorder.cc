#include "record/graphs/capture_recorder.h"

#include "record/clock.h"
#include "record/thread_id.h"

namespace cudadiag::record {

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
