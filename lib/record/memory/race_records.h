// Writes the records of wire/race_record.h if cudadiag looks for races. In the sampled form (memory/copy_sources.h), it
// writes no records, and only follows what can reach the sources of copies. Otherwise, it costs one test per call.
#pragma once

#include <cupti.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "record/calls/call_rules.h"
#include "record/calls/launch_parameters.h"
#include "record/calls/memory_and_graph_call_rules.h"
#include "record/graphs/graph_description.h"
#include "record/graphs/graph_host_memory.h"
#include "record/graphs/graphs.h"
#include "record/memory/copy_sources.h"
#include "record/operations/streams.h"
#include "record/operations/threads.h"
#include "wire/race_record.h"

namespace cudadiag::record {

class RaceRecords {
 public:
  // If `host_writes` is true, the sources of copies are watched, too.
  void attach(const DriverApi& driver, ParameterLayouts& layouts, Streams& streams, const Allocations& allocations,
              bool host_writes);
  // Starts the sampled form, instead of attach(): the sources of one copy in `every` are compared.
  void sample(const DriverApi& driver, ParameterLayouts& layouts, Streams& streams, Interner& interner,
              std::uint32_t every);

  // Call these functions at ENTER, before the operation's own record is written.
  void before_kernel(ThreadState& thread, const Call& call, std::uint32_t function);
  void before_rows(ThreadState& thread, const Call& call);
  struct Copy {
    std::uint32_t id;
    const void* parameters;
    const Call& call;
    bool waits;  // whether the call may wait for the GPU
  };
  // Records the parts of a batch of copies, and whether the copy's source is watched (memory/copy_sources.h).
  void before_copy(ThreadState& thread, const Copy& copy);
  bool samples() const { return sources_.samples(); }
  // In the sampled form, call this instead of the functions above and before_graph(). `call` is that of any operation.
  void before_sampled(ThreadState& thread, wire::operation::Kind kind, const Copy& copy);
  // Call this at ENTER of a captured copy, memset or host function. `frame` is the frame address of the callback.
  void captured(ThreadState& thread, std::uint32_t id, const void* parameters, const Call& call, std::uintptr_t frame);
  // Call this at ENTER of a call that adds a node to a graph, or sets a node's parameters. `site` is the call's site.
  void node_given(ThreadState& thread, std::uint32_t id, const void* parameters, std::uint32_t site,
                  std::uintptr_t frame);
  // Records which memory of the graph has ended, and whether the sources of its copies are watched.
  void before_graph(ThreadState& thread, CUgraphExec exec);
  void before_host_function() { sources_.hold_no_more(); }
  bool compares(const ThreadState& thread) const { return sources_.compares(thread.index); }
  // Call this at ENTER of each call that issues work, and of each other call of a thread that compares(). `site` is the
  // call's site, and `kind` is Kind::none if the call issues nothing.
  void call_entered(ThreadState& thread, std::uint32_t site, wire::operation::Kind kind);
  // Call these functions at ENTER and EXIT of a call that does more than issue an operation.
  void call_begins(ThreadState& thread, std::uint32_t id, const CallRule& rule, const CUpti_CallbackData& data);
  void call_ends(ThreadState& thread, bool ok) {
    if (thread.watched != 0) watched_issued(thread, ok);
    if (thread.waits) {
      thread.waits = false;
      sources_.wait_ends();
    }
    call_left(thread);
  }
  // Like call_begins(), but for a call on a thread without a ring. The recorder does not see the end of such a call, so
  // it stops watching copies.
  void call_begins_unrecorded() { sources_.end(); }
  void context_ends();
  // Call this before a stream's entry can be reused.
  void stream_ends() {
    if (samples()) sources_.forget_all();
  }
  void thread_ended(const ThreadState& thread) {
    stream_ends();
    captured_.thread_ended(thread);
  }
  // `thread` may be null.
  void process_ends(ThreadState* thread);
  // Call these functions at EXIT of calls that succeeded.
  void issued(ThreadState& thread, std::uint32_t id, const CUpti_CallbackData& data);
  void host_saw_stream(ThreadState& thread, std::uint32_t stream) {
    host_saw(thread, stream, wire::race::kAnyway, 0, 0);
  }
  void host_saw_context(ThreadState& thread, std::uint32_t context);
  void returned(ThreadState& thread, std::uint32_t id, const CUpti_CallbackData& data);
  void memory(ThreadState& thread, std::uint32_t id, const MemoryCall& call, std::uint32_t stream,
              std::uint32_t context, std::uint32_t site);
  // Call this at EXIT of a call that allocated memory. `parameters` is CUPTI's structure.
  void memory_made(std::uint32_t id, const void* parameters, const MemoryCall& call);
  // graph() records the parts of an executable graph. graph_changed() records that the parts have become unknown.
  void graph(ThreadState& thread, CUgraphExec exec, CUgraph graph, Interner& interner, Graphs& graphs);
  void graph_changed(ThreadState& thread, CUgraphExec exec) { graph_made(thread, exec, 0, 0); }
  // Call this for a call that has set the parameters of one node. `site` is the call's site.
  void node_set(ThreadState& thread, const GraphCall& call, std::uint32_t site);
  // Records that the graph has been destroyed. The record has the ticks of ENTER, because the handle may already belong
  // to another graph by the time the call returns.
  void graph_gone(ThreadState& thread, CUgraphExec exec) {
    host_memory_.gone(exec);
    graph_made(thread, exec, 0, wire::race::kGone);
  }

 private:
  // A texture or surface, and the index of its context.
  struct Image {
    std::uint64_t handle;
    std::uint32_t context;
    bool surface;
  };
  void array_made(ThreadState& thread, const CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR& shape);
  void tensor_map_made(ThreadState& thread, const cuTensorMapEncodeTiled_params& made);
  void record_tensor_maps(ThreadState& thread, const Call& call);
  void image_made(ThreadState& thread, const Image& image, const CUDA_RESOURCE_DESC* resource);
  void image_returned(ThreadState& thread, std::uint32_t id, const CUpti_CallbackData& data);
  void image_gone(ThreadState& thread, std::uint32_t id, const void* parameters, std::uint32_t context_uid);
  // The part of an array that a copy uses.
  struct Side {
    CUarray array;
    std::uint64_t x, y, z, width, height, depth;
    std::uint16_t flags;  // see wire::race::SideFlag
  };
  void array_side(ThreadState& thread, const Side& side);
  template <typename Parameters>
  void sides(ThreadState& thread, const void* parameters);
  void box_sides(ThreadState& thread, const CUDA_MEMCPY3D_BATCH_OP& box);
  void before_arrays(ThreadState& thread, std::uint32_t id, const void* parameters);
  template <typename Parameters>
  void copies(ThreadState& thread, const void* parameters);
  template <typename Parameters>
  void boxes(ThreadState& thread, const void* parameters);
  void before_batch(ThreadState& thread, std::uint32_t id, const void* parameters);
  void copy_part(ThreadState& thread, const Call& call, wire::race::SourceOrder order);
  void record_changes(ThreadState& thread, std::uint32_t site);
  void call_left(ThreadState& thread);
  void wait_begins(ThreadState& thread);
  void host_waited(ThreadState& thread, const Call& call);
  void host_saw(ThreadState& thread, std::uint32_t stream, wire::race::Seen seen, std::uint64_t source,
                std::uint64_t destination);
  void stream_made(ThreadState& thread, CUstream stream, const CUpti_CallbackData& data);
  std::byte* begin(ThreadState& thread, wire::operation::Kind kind, std::uint32_t stream);
  std::byte* begin_at_call(ThreadState& thread, wire::operation::Kind kind,
                           std::uint32_t stream = wire::operation::kNoStream);

  void event_made(ThreadState& thread, CUevent event);
  void host_saw_event(ThreadState& thread, CUevent event);
  void event_gone(ThreadState& thread, CUevent event);
  void stranger_met(ThreadState& thread);
  void graph_made(ThreadState& thread, CUgraphExec exec, std::uint64_t nodes, std::uint64_t order);
  void graph_node(ThreadState& thread, CUgraphExec exec, GraphDescription& description, std::size_t node,
                  std::uint32_t site);
  struct Node {
    CUgraphExec exec;
    std::uint32_t index, type, site;
  };
  void graph_node(ThreadState& thread, const Node& node, const Call& call);
  SourceRows host_source(const CUDA_MEMCPY3D& copy, const Call& call);
  bool is_known(const SourceRows& rows) const;
  void met(ThreadState& thread, std::uint64_t address, std::uint32_t site, std::uintptr_t frame);
  void add_use(const Node& node, CUgraphNode handle, std::uint64_t address, bool is_source);
  void watch_kernel(ThreadState& thread, const ParameterWords::Found& found);
  void watch_to_end(ThreadState& thread, const SourceRows* sources, std::size_t count);
  void watched_issued(ThreadState& thread, bool ok);
  void watch_sampled(ThreadState& thread, const CopySources::Sampled* sources, std::size_t count);
  bool launch_sampled(ThreadState& thread, CUgraphExec exec);
  void sampled_graph(CUgraphExec exec, CUgraph graph, Interner& interner, Graphs& graphs);
  void sampled_node_set(const GraphCall& call, std::uint32_t site);
  bool hold_host_address(const void* bytes, std::size_t size) const;
  bool may_reach_host(const Call& call);
  bool may_reach_host(const CUDA_KERNEL_NODE_PARAMS& kernel);
  bool carries_host_address(const Call& copy) const;
  bool row_holds_host_address(std::uint64_t begin, std::uint64_t width) const;
  bool writes_to_host(const Copy& copy, HostReach::Operation& to) const;
  bool is_on_device(std::uint64_t target) const;
  bool targets_are_on_device(const Copy& copy) const;
  bool is_of_host(std::uint64_t address) const;
  void compare_no_more(const char* why);
  void keep_change(const CopySources::Change& change);
  void source_watched(ThreadState& thread, std::uint64_t number);
  void record_words(ThreadState& thread, const ParameterWords::Found& found, std::uint32_t function);

  const DriverApi* driver_ = nullptr;
  Streams* streams_ = nullptr;
  Interner* interner_ = nullptr;         // only in the sampled form, as the next two members
  ParameterLayouts* layouts_ = nullptr;  // null if the driver does not know them
  // Pinned and managed memory that the program has ever had, at its addresses on the GPU too. The driver may refuse to
  // free memory. A program may pass an address that is one element in front of its memory, or at its end.
  PinnedRanges reachable_;
  static constexpr std::uint64_t kAround = 256;
  ParameterWords words_;
  // Hashes of the latest encoded tensor maps. A new map replaces any older map at its position in the table.
  static constexpr std::size_t kTensorMaps = 1024;
  std::array<std::atomic<std::uint64_t>, kTensorMaps> tensor_maps_{};
  std::atomic<bool> tensor_maps_made_ = false;
  std::atomic<bool> images_made_ = false;  // true once the program has created an array, a texture or a surface
  CopySources sources_;
  const Allocations* allocations_ = nullptr;
  GraphHostMemory host_memory_;
  CapturedMemory captured_;
};

}  // namespace cudadiag::record
