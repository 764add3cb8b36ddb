#include "capture.h"

#include <algorithm>

#include "api/api.h"

namespace sim {
namespace {

std::uint64_t next_id() {
  static std::uint64_t last = 0;
  return ++last;
}

bool forbids(const Capture& capture, CUstreamCaptureMode mode) {
  if (capture.mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
  const bool ours = capture.thread == std::this_thread::get_id();
  return ours || (mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
}

// Rejects work on the legacy stream, and invalidates the capture, during a capture on a stream that synchronises with
// the legacy stream.
CUresult refuse_legacy(CUstream_st& stream) {
  CUresult result = CUDA_SUCCESS;
  if (&stream != stream.context->legacy.get()) return result;
  for (const auto& capture : Gpu::instance().captures) {
    if (capture->origin->context != stream.context || !capture->origin->synchronises_with_legacy()) continue;
    capture->invalid = true;
    result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  return result;
}

}  // namespace

CUstreamCaptureMode& thread_capture_mode() {
  thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  return mode;
}

CUresult unsafe_during_capture() {
  Gpu& gpu = Gpu::instance();
  if (gpu.capturing == 0 || thread_capture_mode() == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  Gpu::Lock lock(gpu.mutex);
  CUresult result = CUDA_SUCCESS;
  for (const auto& capture : gpu.captures) {
    if (!forbids(*capture, thread_capture_mode())) continue;
    capture->invalid = true;
    result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return result;
}

CUresult issue(Gpu::Lock& lock, CUstream_st& stream, Op op) {
  Gpu& gpu = Gpu::instance();
  if (!stream.capture) {
    if (gpu.capturing > 0) {
      if (const CUresult refused = refuse_legacy(stream); refused != CUDA_SUCCESS) return refused;
    }
    auto* event = static_cast<CUevent>(op.data);
    if (op.kind == Op::Kind::record_event) {
      event->recorded = gpu.record(stream);
      return CUDA_SUCCESS;
    }
    if (op.kind == Op::Kind::wait_event) op = {.kind = Op::Kind::wait_streams, .after = {event->recorded}};
    return gpu.submit(lock, stream, std::move(op));
  }
  if (stream.capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  op.staged.reset();  // each replay reads the memory again
  stream.tail = {add_node(*stream.capture->graph, std::move(op), stream.tail)};
  return CUDA_SUCCESS;
}

CUgraphNode add_node(CUgraph_st& graph, Op op, std::vector<CUgraphNode> dependencies) {
  auto node = std::make_unique<CUgraphNode_st>();
  node->id = next_id();
  node->type = node_type(op);
  node->op = std::move(op);
  node->dependencies = std::move(dependencies);
  node->graph = &graph;
  graph.nodes.push_back(std::move(node));
  CUgraphNode added = graph.nodes.back().get();
  announce_node(graph, *added);
  return added;
}

CUgraphNodeType node_type(const Op& op) {
  switch (op.kind) {
    case Op::Kind::kernel:
      return CU_GRAPH_NODE_TYPE_KERNEL;
    case Op::Kind::copy:
      return CU_GRAPH_NODE_TYPE_MEMCPY;
    case Op::Kind::set8:
    case Op::Kind::set32:
      return CU_GRAPH_NODE_TYPE_MEMSET;
    case Op::Kind::host_function:
      return CU_GRAPH_NODE_TYPE_HOST;
    case Op::Kind::write32:
    case Op::Kind::wait32:
      return CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
    case Op::Kind::record_event:
      return CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    case Op::Kind::wait_event:
      return CU_GRAPH_NODE_TYPE_WAIT_EVENT;
    default:
      return CU_GRAPH_NODE_TYPE_EMPTY;
  }
}

CUresult begin_capture(CUstream_st& stream, CUstreamCaptureMode mode) {
  Gpu& gpu = Gpu::instance();
  if (&stream == stream.context->legacy.get()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream.capture) return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  capture->graph = new CUgraph_st{static_cast<std::uint32_t>(next_id()), {}};
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = &stream;
  capture->members = {&stream};
  capture->id = next_id();
  stream.capture = capture;
  stream.tail.clear();
  gpu.captures.push_back(std::move(capture));
  ++gpu.capturing;
  return CUDA_SUCCESS;
}

CUresult end_capture(CUstream_st& stream, CUgraph* graph) {
  Gpu& gpu = Gpu::instance();
  const auto capture = stream.capture;
  *graph = nullptr;
  if (!capture) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->origin != &stream) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != std::this_thread::get_id()) {
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  }
  for (CUstream member : capture->members) {
    member->capture.reset();
    member->tail.clear();
  }
  std::erase(gpu.captures, capture);
  --gpu.capturing;
  if (capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;  // the graph stays: events may refer to its nodes
  *graph = capture->graph;
  return CUDA_SUCCESS;
}

CUresult refuse_capturing(CUstream_st& stream) {
  if (!stream.capture) return CUDA_SUCCESS;
  stream.capture->invalid = true;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

}  // namespace sim
