// Records graphs: their nodes as they are made, captures, executable graphs.
#include <string.h>

#include "record/clock.h"
#include "record/recorder.h"
#include "record/thread_id.h"

namespace cudadiag::record {

namespace operation = wire::operation;
using operation::Kind;

void Recorder::enter_graph_call(ThreadState& thread, std::uint32_t id, const CUpti_CallbackData& data,
                                std::uintptr_t frame) {
  using What = GraphCall::What;
  const GraphCall call = decode_graph_call(id, data.functionParams);
  // Before the call: after it the handle may be another graph's.
  if (call.what == What::destroy) graphs_.destroyed(call.exec);
  thread.adds_nodes = call.what == What::add_node;
  if (call.what == What::add_node || call.what == What::instantiate || call.what == What::set_node) {
    const Place at = place(thread, id, Kind::graph, 0, frame);
    thread.graph_site = interner_.site(at.key, at.python, at.native, 0, Kind::graph, thread.index);
    const bool armed =
        call.what == What::instantiate && alone_.on() &&
        window_.armed_from(interner_.site_key(Kind::graph, at.python, at.native, 0), 0) != Window::kNever;
    if (armed) {
      thread.markers = graph_markers_.add(call.graph, (call.flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0);
    }
  } else if (call.what == What::update) {
    // An update must have the nodes that the executable graph was made with.
    const GraphWords words = graphs_.words_of(call.exec);
    if (words.count > 0) thread.markers = graph_markers_.add(call.graph, false, words);
  }
}

void Recorder::leave_graph_call(ThreadState& thread, std::uint32_t id, const CUpti_CallbackData& data, bool ok) {
  using What = GraphCall::What;
  const GraphCall call = decode_graph_call(id, data.functionParams);
  if (ok && call.what == What::instantiate) graphs_.instantiated(call, thread.graph_site, thread.markers.words);
  if (ok && call.what == What::update) graphs_.updated(call);
  if (ok && call.conditional != nullptr) graphs_.conditional_made(call);
  const bool sets = call.what == What::set_node || call.what == What::switch_node;
  if (ok && sets) graphs_.node_set(call, thread.graph_site);
  if (ok && options_.races) {
    if (call.what == What::instantiate && call.made != nullptr) {
      races_.graph(thread, *call.made, call.graph, interner_, graphs_);
    }
    if (call.what == What::update) races_.graph(thread, call.exec, call.graph, interner_, graphs_);
    if (sets) races_.graph_changed(thread, call.exec);
    if (call.what == What::destroy) races_.graph_gone(thread, call.exec);
  }
  thread.markers = {};
  thread.graph_site = 0;
  thread.adds_nodes = false;
}

// Inside the call that makes the node. A node that the driver makes for itself, of an executable graph, is of no
// interest.
void Recorder::graph_node(const ThreadState* thread, std::uint32_t id, const CUpti_GraphData& data) {
  if (failures_.frozen()) return;
  const bool captured = thread != nullptr && thread->open.record != nullptr;
  if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) {
    if (captured || (thread != nullptr && thread->adds_nodes)) {
      graphs_.node_cloned(data.node, data.originalNode);
    } else if (thread == nullptr || thread->graph_site == 0) {
      graphs_.node_unknown(data.node);
    }
  } else if (captured) {
    graphs_.node_created(data.node, thread->open.site);
  } else if (thread == nullptr || thread->graph_site == 0 || thread->adds_nodes) {
    graphs_.node_created(data.node, thread == nullptr ? 0 : thread->graph_site);
  }
}

// The call's effect on an executable graph is not read: such a graph is not known from then on.
void Recorder::forget_graph(std::uint32_t id, const CUpti_CallbackData& data) {
  using What = GraphCall::What;
  const GraphCall call = decode_graph_call(id, data.functionParams);
  if (call.what != What::none && call.exec != nullptr) graphs_.destroyed(call.exec);
}

// ---- captures

namespace {

std::uint32_t tid_of(const ThreadState* thread) { return thread != nullptr ? thread->tid : thread_id(); }

}  // namespace

Captures::Stream Recorder::captured_stream(const ThreadState* thread, const CallRule& rule,
                                           const CUpti_CallbackData& data) {
  Call call;
  if (rule.decode != nullptr) rule.decode(data.functionParams, call);
  call.stream.per_thread = rule.per_thread;
  return Captures::stream(call.stream, data.contextUid, tid_of(thread));
}

void Recorder::begin_capture(ThreadState* thread, std::uint32_t id, const CallRule& rule,
                             const CUpti_CallbackData& data, std::uintptr_t frame) {
  // Counted before the call: nothing of ours may reach the driver once the capture is on.
  streams_.capture_began();
  Call call;
  rule.decode(data.functionParams, call);
  std::uint32_t site = 0;
  if (thread != nullptr) {
    const Place at = place(*thread, id, Kind::none, 0, frame);
    site = interner_.site(at.key, at.python, at.native, 0, Kind::none, thread->index);
  }
  const std::uint32_t known = streams_.living(call.stream.handle);
  const std::uint32_t context =
      known != Streams::kNone ? streams_.context_of(known) : streams_.context_index(data.contextUid);
  captures_.began(captured_stream(thread, rule, data),
                  {ticks(), tid_of(thread), static_cast<CUstreamCaptureMode>(call.argument), site, context});
}

void Recorder::refuse_capture(const ThreadState* thread, const CallRule& rule, const CUpti_CallbackData& data) {
  captures_.refused(captured_stream(thread, rule, data));
  streams_.capture_ended();
}

void Recorder::end_capture(const ThreadState* thread, const CallRule& rule, const CUpti_CallbackData& data,
                           std::uint32_t result) {
  // Called by the wrong thread, or on another stream than the one that began it, it ends nothing.
  if (result == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD) return;
  const bool known = captures_.ended(captured_stream(thread, rule, data));
  if (known || result == CUDA_SUCCESS) streams_.capture_ended();
}

}  // namespace cudadiag::record
