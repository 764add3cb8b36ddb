// The live memory that a graph's nodes point to when the graph is instantiated. Candidates are the aligned 8-byte words
// in kernel parameters, and the addresses of copies and memsets. Only one pointer per allocation is kept, preferably an
// 8-byte parameter. Pointers in structures are less certain: arrays in structures are seldom full, and stale values in
// the unused part look like pointers, too.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "record/calls/call_rules.h"
#include "record/graphs/graph_description.h"
#include "record/hooks/driver_api.h"
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

// Gives the addresses in the nodes of graphs to the Python hook (graph_memory.py), which knows the framework's blocks. The
// hook reads the list after each call that may instantiate a graph. Entries beyond the limit are dropped.
class NodeAddresses {
 public:
  // Returns the list that the hook reads; null if there is no memory for it. The recorder adds to it from now on, and
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

class GraphPointers {
 public:
  static constexpr std::size_t kMostPointers = 4096;

  GraphPointers(const DriverApi& driver, const Allocations& allocations) : driver_(driver), allocations_(allocations) {}
  ~GraphPointers();
  GraphPointers(const GraphPointers&) = delete;
  GraphPointers& operator=(const GraphPointers&) = delete;

  // Also stores the parameters of the graph's first kernel nodes. `id`: the graph's intern id.
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

}  // namespace cudadiag::record
