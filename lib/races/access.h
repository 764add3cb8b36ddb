// One use of memory: the bytes, the kind of use, and the operation that uses them. Also its place in the order of
// operations.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sass/kernel_accesses.h"

namespace cudadiag::races {

// The position of an operation in the order in which its process issues operations. 0 is before all operations.
using Moment = std::uint64_t;
using Component = std::uint32_t;

// A sparse vector clock: the operations that happen before a point on a stream. It is sparse because most streams
// depend on few others. A component is one stream, or all blocking streams of a context together. Its value is the
// component's latest operation that happens before the point.
class Clock {
 public:
  Moment at(Component component) const;
  void raise(Component component, Moment to);
  void join(const Clock& other);

  // True if the stream may have waited for something that the driver does not report. Operations may then be ordered in
  // a way that the clock does not show.
  bool vague() const { return vague_; }
  void blur() { vague_ = true; }
  void sharpen() { vague_ = false; }

  template <typename Visit>
  void each(const Visit& visit) const {
    for (const Entry& entry : entries_) visit(entry.component, entry.moment);
  }
  std::size_t size() const { return entries_.size(); }
  // Drops the entries for which `known` returns true. Use this for operations that happen before everything that is
  // issued from now on.
  template <typename Known>
  void drop_if(const Known& known) {
    std::erase_if(entries_, [&](const Entry& entry) { return known(entry.component, entry.moment); });
  }

 private:
  struct Entry {
    Moment moment;
    Component component;
  };
  std::vector<Entry> entries_;  // sorted by component
  bool vague_ = false;
};

// A unique number for each stream that the process ever had. Handles are not unique, because the driver reuses them.
using StreamNumber = std::uint32_t;

using sass::alters;
using sass::is_near;
using sass::Mode;

// CUDA arrays have no addresses. Each array gets its own range above all addresses of memory.
inline constexpr std::uint64_t kArrays = std::uint64_t{1} << 62, kArrayRoom = std::uint64_t{1} << 40;

enum class What : std::uint8_t { kernel, copy, memset, allocation, free };

// When the access can happen.
enum class When : std::uint8_t {
  in_stream,    // in stream order
  during_call,  // before the call returns, perhaps before earlier work on the stream
  any_time,     // before later work on the stream, perhaps before earlier work
};

struct Access {
  Moment at = 0;
  std::uint64_t begin = 0;
  std::uint64_t width = 1;  // bytes in a row
  std::uint64_t pitch = 0;  // bytes from one row to the next
  std::uint32_t rows = 1;
  StreamNumber stream = 0;
  Mode mode = Mode::unknown;
  What what = What::kernel;
  When when = When::in_stream;
  bool exact = false;       // false if `begin` is an address that a kernel received, and the used bytes are unknown
  bool somewhere = false;   // if not exact: uses an unknown part of these bytes, not necessarily the first one
  std::uint8_t thread = 0;  // the thread that issued the operation
  // may_end: the kernel also received a lower address in the same memory, so this address may be an end pointer.
  // may_be_base: launches on several streams received this address, so each launch may use its own part of the memory.
  bool may_end = false, may_be_base = false;
  std::uint64_t ticks = 0;
  // The call site, kernel, parameter and graph node that use the memory. For a node, `node` is 1 + its index.
  std::uint32_t site = 0, function = 0, parameter = 0, node = 0;
  std::uint32_t words = 0;   // index of the launch's parameter words in Detector; 0 if unknown
  std::uint64_t array = 0;   // CUarray, or 0; for an array, `begin` is in its range above kArrays
  std::uint32_t hidden = 0;  // number of earlier accesses of its stream that were dropped to make room for it

  std::uint64_t end() const { return begin + pitch * (rows - 1) + width; }
};

// The bytes on one side of a copy, or those of a memset. If `rows` or `bytes` is 0, the extent is unknown.
struct Extent {
  std::uint64_t pitch = 0, bytes = 0, width = 0;  // `bytes` is the total of all rows; 0 if unknown
  std::uint32_t rows = 0;
};
Access with_place(Access access, std::uint64_t address, const Extent& extent, Mode mode);

// Returns whether the accesses share a byte. Rows are compared one by one, so different columns of one buffer do not
// overlap. An access with `somewhere` set uses an unknown part of its bytes. It overlaps only exact accesses that cover
// all of these bytes.
bool touches(const Access& a, const Access& b);

// The memory accesses of an executable graph's nodes, as recorded when the graph was created.
struct Graph {
  // In each access, `node` is 1 + the index of its node. `parameter` and `function` are those of the node's kernel.
  std::vector<Access> accesses;
  std::vector<std::vector<std::uint32_t>> successors;  // indexed by node
  std::vector<bool> roots;                             // indexed by node: true if the node waits for no other node
  std::vector<std::uint64_t> waited, recorded;         // the events that nodes of the graph wait for and record
  std::uint64_t order = 0;                             // wire::race::GraphOrder
  std::vector<bool> in_child;  // indexed by node: true if it is in a child graph, and so ordered like the node that
                               // contains the child graph
  bool looked_into = false;
  // Accesses to pinned memory that was freed after the latest launch, and the sites of the calls that freed it.
  std::vector<std::pair<Access, std::uint32_t>> freed;
  std::size_t parts = 0;  // number of nodes, edges and accesses that were reported
};

bool are_parallel(const Graph& graph, std::uint32_t a, std::uint32_t b);

}  // namespace cudadiag::races
