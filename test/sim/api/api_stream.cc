// Streams, events, captures and stream memory operations.
#include <algorithm>

#include "api/api.h"

using sim::Gpu;
using sim::Op;

namespace {

CUresult create_stream(CUstream* handle, unsigned int flags, int priority) {
  CUcontext context = sim::current_context();
  Gpu::Lock lock(Gpu::instance().mutex);
  *handle = Gpu::instance().create_stream(*context, flags, priority).get();
  sim::announce(CUPTI_CBID_RESOURCE_STREAM_CREATED, context, *handle);
  return CUDA_SUCCESS;
}

// During a capture, recording an event with CU_EVENT_RECORD_EXTERNAL adds a node to the graph.
CUresult record_event(CUevent event, CUstream handle, unsigned int flags, bool per_thread) {
  Gpu::Lock lock(Gpu::instance().mutex);
  CUstream_st* stream = sim::stream_of(handle, per_thread);
  if (!event || !stream) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture && (flags & CU_EVENT_RECORD_EXTERNAL)) {
    return sim::issue(lock, *stream, {.kind = Op::Kind::record_event, .data = event});
  }
  event->capture = stream->capture;
  event->tail = stream->tail;
  if (!stream->capture && stream->context->error == CUDA_SUCCESS) event->recorded = Gpu::instance().record(*stream);
  return stream->context->error;
}

// The waiting stream joins the capture in which the event was recorded.
CUresult join_capture(CUstream_st& stream, const CUevent_st& event) {
  if (stream.capture && stream.capture != event.capture) {
    stream.capture->invalid = true;
    return event.capture ? CUDA_ERROR_STREAM_CAPTURE_MERGE : CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (!stream.capture) {
    stream.capture = event.capture;
    stream.capture->members.push_back(&stream);
  }
  stream.tail.insert(stream.tail.end(), event.tail.begin(), event.tail.end());
  return CUDA_SUCCESS;
}

CUresult memory_op(Op::Kind kind, CUstream handle, CUdeviceptr address, std::uint32_t value, unsigned int flags,
                   bool per_thread) {
  Gpu& gpu = Gpu::instance();
  const unsigned int allowed = kind == Op::Kind::write32 ? 0 : 3u | CU_STREAM_WAIT_VALUE_FLUSH;
  if (address % 4 != 0 || (flags & ~allowed) || !gpu.memory.holds(address, 4)) return CUDA_ERROR_INVALID_VALUE;
  Gpu::Lock lock(gpu.mutex);
  CUstream_st* stream = sim::stream_of(handle, per_thread);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  return sim::issue(lock, *stream, {.kind = kind, .flags = flags, .value = value, .destination = address, .bytes = 4});
}

struct CaptureAnswer {
  CUstreamCaptureStatus* status;
  cuuint64_t* id;
  CUgraph* graph;
  const CUgraphNode** dependencies;
  std::size_t* count;
};

CUresult capture_info(CUstream handle, bool per_thread, const CaptureAnswer& answer) {
  Gpu::Lock lock(Gpu::instance().mutex);
  CUstream_st* stream = sim::stream_of(handle, per_thread);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  const sim::Capture* capture = stream->capture.get();
  *answer.status = !capture           ? CU_STREAM_CAPTURE_STATUS_NONE
                   : capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                      : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  if (!capture || capture->invalid) return CUDA_SUCCESS;
  if (answer.id) *answer.id = capture->id;
  if (answer.graph) *answer.graph = capture->graph;
  if (answer.dependencies) *answer.dependencies = stream->tail.data();
  if (answer.count) *answer.count = stream->tail.size();
  return CUDA_SUCCESS;
}

}  // namespace

SIM_API(cuStreamCreate, context, (CUstream * phStream, unsigned int Flags), (phStream, Flags)) {
  return create_stream(phStream, Flags, 0);
}

SIM_API(cuStreamCreateWithPriority, context, (CUstream * phStream, unsigned int flags, int priority),
        (phStream, flags, priority)) {
  return create_stream(phStream, flags, priority);
}

// Does not wait. Queued work still runs, and the handle may be reused afterwards.
SIM_API(cuStreamDestroy_v2, context, (CUstream hStream), (hStream)) {
  if (!hStream || hStream->destroyed) return CUDA_ERROR_INVALID_HANDLE;
  sim::announce(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, hStream->context, hStream);
  sim::deliver_announcements();
  Gpu::Lock lock(Gpu::instance().mutex);
  std::erase_if(hStream->context->streams, [&](const auto& stream) { return stream.get() == hStream; });
  return CUDA_SUCCESS;
}

SIM_API_STREAM(cuStreamSynchronize, _ptsz, quiet, (CUstream hStream), (hStream)) {
  Gpu& gpu = Gpu::instance();
  Gpu::Lock lock(gpu.mutex);
  CUstream_st* stream = sim::stream_of(hStream, per_thread);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult refused = sim::refuse_capturing(*stream); refused != CUDA_SUCCESS) return refused;
  return gpu.wait(lock, *stream->context, {{stream->shared_from_this(), stream->issued}});
}

SIM_API_STREAM(cuStreamQuery, _ptsz, quiet, (CUstream hStream), (hStream)) {
  Gpu& gpu = Gpu::instance();
  Gpu::Lock lock(gpu.mutex);
  CUstream_st* stream = sim::stream_of(hStream, per_thread);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult refused = sim::refuse_capturing(*stream); refused != CUDA_SUCCESS) return refused;
  return gpu.query(lock, *stream->context, {{stream->shared_from_this(), stream->issued}});
}

SIM_API_STREAM(cuStreamWaitEvent, _ptsz, context, (CUstream hStream, CUevent hEvent, unsigned int Flags),
               (hStream, hEvent, Flags)) {
  Gpu& gpu = Gpu::instance();
  Gpu::Lock lock(gpu.mutex);
  CUstream_st* stream = sim::stream_of(hStream, per_thread);
  if (!stream || !hEvent) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture && (Flags & CU_EVENT_WAIT_EXTERNAL)) {
    return sim::issue(lock, *stream, {.kind = Op::Kind::wait_event, .data = hEvent});
  }
  if (hEvent->capture || stream->capture) return join_capture(*stream, *hEvent);
  if (hEvent->recorded.met()) return CUDA_SUCCESS;
  return gpu.submit(lock, *stream, {.kind = Op::Kind::wait_streams, .after = {hEvent->recorded}});
}

SIM_API_STREAM(cuStreamGetId, _ptsz, context, (CUstream hStream, unsigned long long* streamId), (hStream, streamId)) {
  Gpu::Lock lock(Gpu::instance().mutex);
  const CUstream_st* stream = sim::stream_of(hStream, per_thread);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  *streamId = stream->id;
  return CUDA_SUCCESS;
}

SIM_API_STREAM(cuStreamGetFlags, _ptsz, context, (CUstream hStream, unsigned int* flags), (hStream, flags)) {
  Gpu::Lock lock(Gpu::instance().mutex);
  CUstream_st* stream = sim::stream_of(hStream, per_thread);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult refused = sim::refuse_capturing(*stream); refused != CUDA_SUCCESS) return refused;
  *flags = stream->flags;
  return CUDA_SUCCESS;
}

SIM_API_STREAM(cuStreamGetCtx, _ptsz, context, (CUstream hStream, CUcontext* pctx), (hStream, pctx)) {
  Gpu::Lock lock(Gpu::instance().mutex);
  const CUstream_st* stream = sim::stream_of(hStream, per_thread);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  *pctx = stream->context;
  return CUDA_SUCCESS;
}

SIM_API_STREAM(cuStreamBeginCapture_v2, _ptsz, context, (CUstream hStream, CUstreamCaptureMode mode), (hStream, mode)) {
  Gpu::Lock lock(Gpu::instance().mutex);
  CUstream_st* stream = sim::stream_of(hStream, per_thread);
  return stream ? sim::begin_capture(*stream, mode) : CUDA_ERROR_INVALID_HANDLE;
}

SIM_API_STREAM(cuStreamEndCapture, _ptsz, context, (CUstream hStream, CUgraph* phGraph), (hStream, phGraph)) {
  Gpu::Lock lock(Gpu::instance().mutex);
  CUstream_st* stream = sim::stream_of(hStream, per_thread);
  return stream ? sim::end_capture(*stream, phGraph) : CUDA_ERROR_INVALID_HANDLE;
}

SIM_API_STREAM(cuStreamIsCapturing, _ptsz, context, (CUstream hStream, CUstreamCaptureStatus* captureStatus),
               (hStream, captureStatus)) {
  return capture_info(hStream, per_thread, {captureStatus, nullptr, nullptr, nullptr, nullptr});
}

SIM_API_STREAM(cuStreamGetCaptureInfo_v2, _ptsz, context,
               (CUstream hStream, CUstreamCaptureStatus* captureStatus_out, cuuint64_t* id_out, CUgraph* graph_out,
                const CUgraphNode** dependencies_out, std::size_t* numDependencies_out),
               (hStream, captureStatus_out, id_out, graph_out, dependencies_out, numDependencies_out)) {
  return capture_info(hStream, per_thread,
                      {captureStatus_out, id_out, graph_out, dependencies_out, numDependencies_out});
}

SIM_API(cuThreadExchangeStreamCaptureMode, driver, (CUstreamCaptureMode * mode), (mode)) {
  std::swap(*mode, sim::thread_capture_mode());
  return CUDA_SUCCESS;
}

SIM_API_STREAM(cuStreamWriteValue32_v2, _ptsz, context,
               (CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags),
               (stream, addr, value, flags)) {
  return memory_op(Op::Kind::write32, stream, addr, value, flags, per_thread);
}

SIM_API_STREAM(cuStreamWaitValue32_v2, _ptsz, context,
               (CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags),
               (stream, addr, value, flags)) {
  return memory_op(Op::Kind::wait32, stream, addr, value, flags, per_thread);
}

// The deprecated first version of the function, which dlsym finds under the plain name. On current drivers, this
// version always fails.
SIM_API(cuStreamWriteValue32, context, (CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags),
        (stream, addr, value, flags)) {
  static_cast<void>(stream), static_cast<void>(addr), static_cast<void>(value), static_cast<void>(flags);
  return CUDA_ERROR_NOT_SUPPORTED;
}

SIM_API(cuEventCreate, context, (CUevent * phEvent, unsigned int Flags), (phEvent, Flags)) {
  *phEvent = new CUevent_st;
  (*phEvent)->context = sim::current_context();
  (*phEvent)->timed = !(Flags & CU_EVENT_DISABLE_TIMING);
  return CUDA_SUCCESS;
}

SIM_API(cuEventDestroy_v2, context, (CUevent hEvent), (hEvent)) {
  if (!hEvent) return CUDA_ERROR_INVALID_HANDLE;
  Gpu::Lock lock(Gpu::instance().mutex);
  delete hEvent;
  return CUDA_SUCCESS;
}

SIM_API_STREAM(cuEventRecord, _ptsz, context, (CUevent hEvent, CUstream hStream), (hEvent, hStream)) {
  return record_event(hEvent, hStream, 0, per_thread);
}

SIM_API_STREAM(cuEventRecordWithFlags, _ptsz, context, (CUevent hEvent, CUstream hStream, unsigned int flags),
               (hEvent, hStream, flags)) {
  return record_event(hEvent, hStream, flags, per_thread);
}

SIM_API(cuEventQuery, quiet, (CUevent hEvent), (hEvent)) {
  if (!hEvent) return CUDA_ERROR_INVALID_HANDLE;
  Gpu& gpu = Gpu::instance();
  Gpu::Lock lock(gpu.mutex);
  if (hEvent->capture) return CUDA_ERROR_CAPTURED_EVENT;
  return gpu.query(lock, *hEvent->context, {hEvent->recorded});
}

SIM_API(cuEventSynchronize, quiet, (CUevent hEvent), (hEvent)) {
  if (!hEvent) return CUDA_ERROR_INVALID_HANDLE;
  Gpu& gpu = Gpu::instance();
  Gpu::Lock lock(gpu.mutex);
  if (hEvent->capture) return CUDA_ERROR_CAPTURED_EVENT;
  return gpu.wait(lock, *hEvent->context, {hEvent->recorded});
}

static CUresult elapsed(float* milliseconds, CUevent start, CUevent end) {
  if (!start || !end || !start->timed || !end->timed) return CUDA_ERROR_INVALID_HANDLE;
  if (!start->recorded.met() || !end->recorded.met()) return CUDA_ERROR_NOT_READY;
  *milliseconds = 0.0F;  // nothing here takes time
  return CUDA_SUCCESS;
}

SIM_API(cuEventElapsedTime, context, (float* pMilliseconds, CUevent hStart, CUevent hEnd),
        (pMilliseconds, hStart, hEnd)) {
  return elapsed(pMilliseconds, hStart, hEnd);
}

SIM_API(cuEventElapsedTime_v2, context, (float* pMilliseconds, CUevent hStart, CUevent hEnd),
        (pMilliseconds, hStart, hEnd)) {
  return elapsed(pMilliseconds, hStart, hEnd);
}
