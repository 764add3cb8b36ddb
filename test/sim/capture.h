// Stream capture: operations that become graph nodes, and the calls that a capture in progress forbids.
#pragma once

#include "gpu.h"

namespace sim {

// Returns the calling thread's capture mode, which cuThreadExchangeStreamCaptureMode swaps.
CUstreamCaptureMode& thread_capture_mode();

// If a capture forbids potentially unsafe calls on this thread, invalidates the capture and returns
// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED.
CUresult unsafe_during_capture();

// Runs the operation on the stream, or makes it a node of the graph that the stream captures. The caller must hold the
// mutex.
CUresult issue(Gpu::Lock& lock, CUstream_st& stream, Op op);

CUgraphNode add_node(CUgraph_st& graph, Op op, std::vector<CUgraphNode> dependencies);
CUgraphNodeType node_type(const Op& op);

CUresult begin_capture(CUstream_st& stream, CUstreamCaptureMode mode);
CUresult end_capture(CUstream_st& stream, CUgraph* graph);
// If the stream is capturing, invalidates the capture, and returns the error that a synchronising call gets.
CUresult refuse_capturing(CUstream_st& stream);

}  // namespace sim
