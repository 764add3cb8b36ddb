#include "record/graphs/graph_recorder.h"

#include "record/rerun/node_saver.h"
#include "record/this_thread.h"

namespace cudadiag::record {

namespace operation = wire::operation;
using operation::Kind;
using What = GraphCall::What;

void GraphRecorder::attach(AreaMap& area, Interner& interner, const DriverApi& driver, const Allocations& allocations,
                           SiteFinder& sites) {
  interner_ = &interner;
  sites_ = &sites;
  graphs_.attach(area, interner, driver, allocations);
  markers_.attach(area, interner, driver);
}

void GraphRecorder::enter(ThreadState& thread, std::uint32_t id, const CUpti_CallbackData& data, std::uintptr_t frame) {
  const GraphCall call = decode_graph_call(id, data.functionParams);
  // Forgets the graph before the call, because its handle may belong to another graph afterwards.
  if (call.what == What::destroy) graphs_.destroyed(call.exec);
  if (followed_ != nullptr) before_end(call);
  thread.adds_nodes = call.what == What::add_node;
  if (call.what == What::add_node || call.what == What::instantiate || call.what == What::set_node) {
    const SiteFinder::Place at = sites_->place(thread, id, Kind::graph, 0, frame);
    thread.graph_site = sites_->site_at(thread, at, Kind::graph, 0);
    if (races_ != nullptr) races_->node_given(thread, id, data.functionParams, thread.graph_site, frame);
    const bool armed =
        call.what == What::instantiate && exclusive_wait_->on() &&
        window_->armed_from(interner_->site_key(Kind::graph, at.python, at.native, 0), 0) != Window::kNever;
    if (armed) {
      thread.markers = markers_.add(call.graph, (call.flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0);
    }
  } else if (call.what == What::update) {
    // Reuses the marker words, because an update requires the same nodes as the graph that was instantiated.
    const GraphWords words = graphs_.words_of(call.exec);
    if (words.count > 0) thread.markers = markers_.add(call.graph, false, words);
  }
}

void GraphRecorder::leave(ThreadState& thread, std::uint32_t id, const CUpti_CallbackData& data, bool ok) {
  const GraphCall call = decode_graph_call(id, data.functionParams);
  if (ok) {
    if (call.what == What::instantiate) graphs_.instantiated(call, thread.graph_site, thread.markers.words);
    if (call.what == What::update) graphs_.updated(call);
    if (call.conditional != nullptr) graphs_.conditional_made(call);
    if (call.what == What::set_node || call.what == What::switch_node) graphs_.node_set(call, thread.graph_site);
    if (followed_ != nullptr) followed_->node_set(call);
    if (races_ != nullptr) record_race_effects(thread, call);
  }
  thread.markers = {};
  thread.graph_site = 0;
  thread.adds_nodes = false;
}

void GraphRecorder::before_end(const GraphCall& call) {
  if (call.what == What::destroy) followed_->exec_destroyed(call.exec);
  if (call.what == What::destroy_graph && followed_->keeps(call.graph)) t_this.withheld = true;
}

void GraphRecorder::record_race_effects(ThreadState& thread, const GraphCall& call) {
  switch (call.what) {
    case What::instantiate:
      if (call.made != nullptr) races_->graph(thread, *call.made, call.graph, *interner_, graphs_);
      break;
    case What::update:
      races_->graph(thread, call.exec, call.graph, *interner_, graphs_);
      break;
    case What::set_node:
    case What::switch_node:
      races_->node_set(thread, call, thread.graph_site);
      break;
    case What::destroy:
      races_->graph_gone(thread, call.exec);
      break;
    default:
      break;
  }
}

// Ignores nodes that the driver creates in an executable graph for its own use.
void GraphRecorder::node(const ThreadState* thread, std::uint32_t id, const CUpti_GraphData& data) {
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

void GraphRecorder::forget(std::uint32_t id, const CUpti_CallbackData& data) {
  const GraphCall call = decode_graph_call(id, data.functionParams);
  if (call.what != What::none && call.exec != nullptr) graphs_.destroyed(call.exec);
  if (followed_ == nullptr) return;
  if (call.exec != nullptr) followed_->exec_destroyed(call.exec);
  before_end(call);
}

void GraphRecorder::write_replay(std::byte* record, const OpenOperation& open, CUgraphExec graph,
                                 StalePointers& stale) {
  const GraphReplay replay = graphs_.launched(graph, stale);
  wire::store(record, operation::kGraph, replay.graph);
  wire::store(record, operation::kReplay, replay.ordinal);
  wire::store(record, operation::kGraphFlags, static_cast<std::uint8_t>(replay.flags));
  if ((open.flags & operation::kAlone) != 0 && replay.words.count > 0) {
    markers_.clear(replay.words);
    wire::store(record, operation::kGraphWords, replay.words.first + 1);
  }
}

}  // namespace cudadiag::record
