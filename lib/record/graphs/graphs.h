// CUDA graphs: the line that created each node, the parts of each executable graph, and its launches.
//
// A node's line is recorded when the driver creates the node: inside the captured launch, or inside the call that adds
// the node. When an executable graph has been instantiated or updated, its parts are read from the program's own graph,
// and stored in the intern heap. Launches refer to them by id. If a node of the executable graph was given new
// parameters, the next launch records which call set them.
//
// All tables are bounded. Graphs that do not fit are counted, and their launches are recorded without a graph.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "record/calls/memory_and_graph_call_rules.h"
#include "record/driver_api.h"
#include "record/graphs/graph_description.h"
#include "record/graphs/graph_markers.h"
#include "record/libc_substitutes.h"
#include "record/memory/allocations.h"
#include "record/output/interner.h"

namespace cudadiag::record {

struct GraphPointer {
  std::uint32_t node;  // index in the description
  // kernels: offset in the parameters; copies and memsets: 0 for the destination, 8 for the source
  std::uint16_t offset;
  bool in_structure;
  std::uint64_t address;
  std::uint64_t allocation;  // serial of the allocation
  std::uint32_t entry;       // index in Allocations
};

// Finds the pointers that a call sets in a node, and returns their number, at most `to.size()`. Leaves the member
// `node` unset. Finds only 8-byte parameters that point to the beginning of an allocation. A full search would take too
// long, because a program may make such a call before each launch.
std::size_t given_pointers(const DriverApi& driver, const Allocations& allocations, const GraphCall& call,
                           std::span<GraphPointer> to);

// Gives the addresses in the nodes of graphs to the Python hook (graph_memory.py), which knows the framework's blocks.
// The hook reads the list after each call that may instantiate a graph. Entries beyond the limit are dropped.
class NodeAddresses {
 public:
  // Returns the list for the Python hook, or null if memory is short. The recorder adds to it from now on, and
  // never frees it. It has the number of entries (u32) and their limit (u32), then the entries. Each has a u64 address,
  // and four u32: graph, node, offset, and 1 for a word that may be a leftover, because it is in a large structure.
  static void* list();
  static void add(std::uint32_t graph, std::uint32_t node, std::uint16_t offset, std::uint64_t address,
                  bool may_be_leftover);

 private:
  struct Entry {
    std::uint64_t address;
    std::uint32_t graph, node, offset, may_be_leftover;
  };
  struct List {
    static constexpr std::uint32_t kMost = 1u << 16;
    std::uint32_t count, limit;
    Entry entries[kMost];
  };
  static std::atomic<List*> list_;
};

// The live memory that a graph's nodes point to when the graph is instantiated. Candidates are the aligned 8-byte words
// in kernel parameters, and the addresses of copies and memsets. Only one pointer per allocation is kept, preferably an
// 8-byte parameter. Pointers in structures are less certain: arrays in structures are seldom full, and stale values in
// the unused part look like pointers, too.
class GraphPointers {
 public:
  static constexpr std::size_t kMostPointers = 4096;

  GraphPointers(const DriverApi& driver, const Allocations& allocations) : driver_(driver), allocations_(allocations) {}
  ~GraphPointers();
  GraphPointers(const GraphPointers&) = delete;
  GraphPointers& operator=(const GraphPointers&) = delete;

  // Also stores the parameters of the graph's first kernel nodes. Omits nodes that kernels may change.
  // `id`: the graph's intern id.
  void read(GraphDescription& graph, std::uint32_t id, Interner& interner);
  std::span<const GraphPointer> pointers() const { return {pointers_, count_}; }

 private:
  struct Memory;

  // If `pointer` points to live memory, adds a copy of it in which `allocation` and `entry` are set, and returns true.
  bool add(const GraphPointer& pointer);

  const DriverApi& driver_;
  const Allocations& allocations_;
  Memory* memory_ = nullptr;
  std::span<Allocations::Living> living_;  // sorted by address
  GraphPointer* pointers_ = nullptr;
  std::size_t count_ = 0;
};

struct GraphReplay {
  std::uint32_t graph = 0;    // intern id; 0 if unknown
  std::uint32_t ordinal = 0;  // 1-based; 0 if unknown
  std::uint32_t flags = 0;    // wire::operation::GraphFlag
  GraphWords words;           // set only in a rerun
};

// Pointers of a graph to memory that was freed after the graph's previous launch. Each pointer is reported only once.
struct StalePointers {
  static constexpr std::size_t kMost = 8;
  std::size_t count = 0;
  std::array<StalePointer, kMost> pointers;

  std::span<const StalePointer> all() const { return std::span(pointers).first(count); }
};

class FollowedGraphs;

class Graphs {
 public:
  void attach(AreaMap& area, Interner& interner, const DriverApi& driver, const Allocations& allocations);
  void save_by(FollowedGraphs& followed) { followed_ = &followed; }

  // The driver reuses node handles, so a newer call for a handle replaces an older one.
  void node_created(CUgraphNode node, std::uint32_t site);
  void node_cloned(CUgraphNode node, CUgraphNode original);
  // Call this for a node of unknown origin, in a graph or an executable graph.
  void node_unknown(CUgraphNode node) { conditionals_.forget(node); }
  // Call this after the driver call has succeeded.
  void conditional_made(const GraphCall& call);

  // Call this after the driver call has succeeded. `site` is the site of that call.
  void instantiated(const GraphCall& call, std::uint32_t site, GraphWords words);
  void updated(const GraphCall& call);
  // `site` is the site of the driver call, and is used only if the call sets the node's parameters.
  void node_set(const GraphCall& call, std::uint32_t site);
  void destroyed(CUgraphExec exec);

  std::uint32_t site_of(CUgraphNode node);
  GraphWords words_of(CUgraphExec exec);
  // Call this at ENTER of a launch. Fills `stale`, which must be empty.
  GraphReplay launched(CUgraphExec exec, StalePointers& stale);

 private:
  struct Node {
    std::uint64_t handle;  // 0 if free
    std::uint32_t site;
    std::uint32_t stamp;
  };
  struct Exec {
    std::uint64_t handle;  // 0 if free
    std::uint32_t stamp;
    std::uint32_t site;       // site of the instantiation
    GraphReplay replay;       // of the latest launch
    std::uint32_t described;  // intern id of the graph from which it was instantiated or updated
    // The graph's nodes in `exec_nodes_`, and the index of the node that was looked up last.
    std::uint32_t nodes, last_set;
    std::uint64_t first_node;
    bool changed;  // true if a call from a different site has set a node since the latest launch
    // The graph's pointers in `pointers_`, and how many allocations had been freed or unmapped when the pointers were
    // last checked.
    std::uint64_t first_pointer, ends;
    std::uint32_t pointers;
  };
  struct ExecNode {
    CUgraphNode handle;
    std::uint32_t site;             // site of the call that set its parameters; 0 if they are unchanged
    std::uint32_t parent : 31;      // see wire/intern.h
    std::uint32_t may_not_run : 1;  // true for a node in the body of a conditional node
  };
  static constexpr std::uint32_t kNoNode = 0xffffffff;
  // A hash table whose rows have kWays entries. A full row drops its oldest entry, which usually belongs to a destroyed
  // graph.
  template <typename Entry, std::size_t Rows>
  struct Table {
    static constexpr std::size_t kWays = 8;
    Entry* find(std::uint64_t handle);
    Entry& place(std::uint64_t handle, std::uint32_t stamp);
    std::array<std::array<Entry, kWays>, Rows> rows;
  };

  // The parts of an executable graph. `graph` is 0 if the description did not fit, or if the driver did not report it.
  struct Made {
    std::uint32_t graph = 0, nodes = 0, pointers = 0;
    std::uint32_t flags = 0;  // wire::operation::GraphFlag
    std::uint64_t first_node = 0, first_pointer = 0, ends = 0;
  };
  // Call this after `call` has instantiated or updated the executable graph.
  Made describe(const GraphCall& call, std::uint32_t site);
  void keep(GraphDescription& description, std::span<const GraphPointer> pointers, Made& made);
  static void take(Exec& exec, const Made& made);
  void take_stale(Exec& exec, StalePointers& stale);
  bool alters(const GraphCall& call, CUgraphNodeType& type);
  ExecNode& exec_node(const Exec& exec, std::uint32_t node);
  std::uint32_t index_of(Exec& exec, CUgraphNode handle);
  bool lies_in(const Exec& exec, std::uint32_t node, std::uint32_t holder);
  void forget_pointers(Exec& exec, std::uint32_t node);
  void add_pointers(Exec& exec, std::uint32_t node, std::span<const GraphPointer> given);
  void record_changes(Exec& exec);

  AreaMap* area_ = nullptr;
  Interner* interner_ = nullptr;
  const DriverApi* driver_ = nullptr;
  FollowedGraphs* followed_ = nullptr;  // null if no node is saved
  Mutex mutex_;
  std::uint32_t stamp_ = 0;
  Table<Node, 16384> nodes_;
  ConditionalNodes conditionals_;
  Table<Exec, 1024> execs_;
  const Allocations* allocations_ = nullptr;
  // A ring with the pointers of the newest graphs. Pointer n is at index n modulo the size.
  static constexpr std::uint64_t kPointers = 65536;
  // kSparePointers is the number of spare entries per graph, for pointers that later calls set. kMostGiven limits the
  // new pointers per call.
  static constexpr std::uint32_t kSparePointers = 4, kMostGiven = 16;
  std::uint64_t pointers_used_ = 0;
  std::array<GraphPointer, kPointers> pointers_;
  // A ring with the nodes of the newest graphs, in the order of their descriptions.
  static constexpr std::uint64_t kExecNodes = GraphDescription::kMostNodes;
  static constexpr std::size_t kMostChanges = 4096;
  std::uint64_t exec_nodes_used_ = 0;
  std::array<ExecNode, kExecNodes> exec_nodes_;
  std::array<GraphChange, kMostChanges> changes_;
};

}  // namespace cudadiag::record
