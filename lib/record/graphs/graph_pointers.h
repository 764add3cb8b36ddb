// Which living memory the nodes of a graph point to when it becomes executable: of kernels the aligned words of eight
// bytes among their parameters, of copies and memsets their ends. One pointer is kept for each piece of memory: the
// first, and a parameter of eight bytes rather than a word of a structure. Lists in structures are seldom full, and
// leftovers of earlier calls look like pointers too.
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
  std::uint16_t offset;  // among a kernel's parameters; of copies and memsets: 0 the destination, 8 the source
  bool in_structure;
  std::uint64_t address;
  std::uint64_t allocation;  // its serial
  std::uint32_t entry;       // of Allocations
};

// The pointers that a node gets instead, without `node`, and only parameters of eight bytes that point to the beginning
// of a piece of memory: a full search would take too long for a call that a program may make at each launch. Returns
// how many there are, `to.size()` at most.
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

  // `pointer` names no memory yet.
  void add(const GraphPointer& pointer);

  const DriverApi& driver_;
  const Allocations& allocations_;
  Memory* memory_ = nullptr;
  std::span<Allocations::Living> living_;  // by address
  GraphPointer* pointers_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace cudadiag::record
