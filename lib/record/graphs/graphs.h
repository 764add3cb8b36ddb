// CUDA graphs: which line made each node, the parts of each executable graph, and how often it was launched.
//
// A node's line is recorded when the driver makes the node, inside the launch that is being captured or the call that
// adds it. The parts of an executable graph are read from the program's own graph once the call that made or updated
// the executable one has returned, and go to the intern heap; launches then refer to it by its id. If a node of the
// executable graph was given new parameters, the next launch records which call did so.
//
// Everything has a bound: a graph that finds no place is counted, and its launches are those of an unknown graph.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "record/calls/graph_calls.h"
#include "record/cupti/driver_api.h"
#include "record/graphs/conditional_nodes.h"
#include "record/graphs/graph_description.h"
#include "record/graphs/graph_markers.h"
#include "record/graphs/graph_pointers.h"
#include "record/lock.h"
#include "record/memory/allocations.h"
#include "record/output/interner.h"

namespace cudadiag::record {

struct GraphReplay {
  std::uint32_t graph = 0;    // intern id; 0: not known
  std::uint32_t ordinal = 0;  // 1-based; 0: not known
  std::uint32_t flags = 0;    // wire::operation::GraphFlag
  GraphWords words;           // in a rerun
};

// The pointers of a graph whose memory was freed since its previous launch. Each is taken once.
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

  // Nodes' handles are used again: the latest news holds.
  void node_created(CUgraphNode node, std::uint32_t site);
  void node_cloned(CUgraphNode node, CUgraphNode original);
  // It may be a graph's, or of an executable one.
  void node_unknown(CUgraphNode node) { conditionals_.forget(node); }
  // The call has returned with success.
  void conditional_made(const GraphCall& call);

  // The call has returned with success. `site`: its own.
  void instantiated(const GraphCall& call, std::uint32_t site, GraphWords words);
  void updated(const GraphCall& call);
  // `site`: of the call, if it gives the node parameters.
  void node_set(const GraphCall& call, std::uint32_t site);
  void destroyed(CUgraphExec exec);

  // Where a node was made; 0: not known.
  std::uint32_t site_of(CUgraphNode node);
  GraphWords words_of(CUgraphExec exec);
  // At ENTER of a launch. Adds to `stale`, which is empty.
  GraphReplay launched(CUgraphExec exec, StalePointers& stale);

 private:
  struct Node {
    std::uint64_t handle;  // 0: free
    std::uint32_t site;
    std::uint32_t stamp;
  };
  struct Exec {
    std::uint64_t handle;  // 0: free
    std::uint32_t stamp;
    std::uint32_t site;       // of its instantiation
    GraphReplay replay;       // the latest
    std::uint32_t described;  // intern id of what it was made or updated with
    // Its nodes in `exec_nodes_`, and the place of the last one that was looked up.
    std::uint32_t nodes, last_set;
    std::uint64_t first_node;
    bool changed;  // nodes have been set at other sites since the latest launch
    // Its pointers in `pointers_`, and how many allocations had ended when they were all alive.
    std::uint64_t first_pointer, ends;
    std::uint32_t pointers;
  };
  struct ExecNode {
    CUgraphNode handle;
    std::uint32_t site;         // of the call that gave it its parameters, where it is no longer as described; 0: it is
    std::uint32_t parent : 31;  // wire/intern.h
    std::uint32_t may_not_run : 1;  // it lies in the body of a conditional node
  };
  static constexpr std::uint32_t kNoNode = 0xffffffff;
  // Rows of places; a handle lies in the row that its hash picks. If a row is full, its oldest entry is dropped:
  // usually that of a graph long gone.
  template <typename Entry, std::size_t Rows>
  struct Table {
    static constexpr std::size_t kWays = 8;
    Entry* find(std::uint64_t handle);
    Entry& place(std::uint64_t handle, std::uint32_t stamp);
    std::array<std::array<Entry, kWays>, Rows> rows;
  };

  // The parts of an executable graph. Id 0: there is no room for it, or the driver does not say.
  struct Made {
    std::uint32_t graph = 0, nodes = 0, pointers = 0;
    std::uint64_t first_node = 0, first_pointer = 0, ends = 0;
  };
  // `call`: that has made or updated it.
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
  FollowedGraphs* followed_ = nullptr;  // null: no node is saved
  Mutex mutex_;
  std::uint32_t stamp_ = 0;
  Table<Node, 16384> nodes_;
  ConditionalNodes conditionals_;
  Table<Exec, 1024> execs_;
  const Allocations* allocations_ = nullptr;
  // For the graphs made last: pointer n lies at n modulo the size.
  static constexpr std::uint64_t kPointers = 65536;
  // For one graph: spare places for pointers that its nodes did not have before. For one node: the most new pointers.
  static constexpr std::uint32_t kSparePointers = 4, kMostGiven = 16;
  std::uint64_t pointers_used_ = 0;
  std::array<GraphPointer, kPointers> pointers_;
  // And their nodes, in the order of their description, in the same way.
  static constexpr std::uint64_t kExecNodes = GraphDescription::kMostNodes;
  static constexpr std::size_t kMostChanges = 4096;
  std::uint64_t exec_nodes_used_ = 0;
  std::array<ExecNode, kExecNodes> exec_nodes_;
  std::array<GraphChange, kMostChanges> changes_;
};

}  // namespace cudadiag::record
