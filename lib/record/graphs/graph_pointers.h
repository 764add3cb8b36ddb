// The live memory that a graph's nodes point to when the graph is instantiated. Candidates are the aligned 8-byte words
// in kernel parameters, and the addresses of copies and memsets. One pointer per allocation is kept: the first one that
// is an 8-byte parameter, or else the first word of a structure. Structures are less certain, because their arrays are
// seldom full, and values left over from earlier calls look like pointers too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "record/calls/graph_calls.h"
#include "record/cupti/driver_api.h"
#include "record/graphs/graph_description.h"
#include "record/memory/allocations.h"

namespace cudadiag::record {

struct GraphPointer {
  std::uint32_t node;    // index in the description
  std::uint16_t offset;  // among a kernel's parameters; copies and memsets: 0 the destination, 8 the source
  bool in_structure;
  std::uint64_t address;
  std::uint64_t allocation;  // serial of the allocation
  std::uint32_t entry;       // index in Allocations
};

// Finds the new pointers that a call gives to a node, and returns their number, at most `to.size()`. Leaves the member
// `node` unset. Considers only 8-byte parameters that point to the beginning of an allocation: a program may make such
// a call at each launch, so a full search would take too long.
std::size_t given_pointers(const DriverApi& driver, const Allocations& allocations, const GraphCall& call,
                           std::span<GraphPointer> to);

class GraphPointers {
 public:
  static constexpr std::size_t kMostPointers = 4096;

  GraphPointers(const DriverApi& driver, const Allocations& allocations) : driver_(driver), allocations_(allocations) {}
  ~GraphPointers();
  GraphPointers(const GraphPointers&) = delete;
  GraphPointers& operator=(const GraphPointers&) = delete;

  void read(GraphDescription& graph);
  std::span<const GraphPointer> pointers() const { return {pointers_, count_}; }

 private:
  struct Memory;

  // The member `allocation` of `pointer` need not be set yet.
  void add(const GraphPointer& pointer);

  const DriverApi& driver_;
  const Allocations& allocations_;
  Memory* memory_ = nullptr;
  std::span<Allocations::Living> living_;  // by address
  GraphPointer* pointers_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace cudadiag::record
