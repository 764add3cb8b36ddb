// An operation record: 64 bytes, one cache line, in a thread's ring or in one of a stream's slots in `held`.
//
//    0        4     5      6       7         8       16        20             24     26       28       30          32
//    +--------+-----+------+-------+---------+-------+---------+--------------+------+--------+--------+-----------+
//    | serial |kind |flags | thread| (below) | ticks | ordinal | site ordinal | site | stream | result | node type |
//    +--------+-----+------+-------+---------+-------+---------+--------------+------+--------+--------+-----------+
//    32       36     38     40      44             48        50     52
//    +--------+------+------+-------+--------------+---------+------+
//    | grid x |  y   |  z   | block | shared bytes | cluster | zero |    kernels
//    +--------+------+------+-------+--------------+---------+------+
//    | argument (u64)       | graph | replay       | words          |    graph launches; their flags are at 7
//    | destination (u64)    | source (u64)         | bytes          |    copies, memsets, prefetches; bits 32 to 39
//    |                      |                      |                |    of the bytes are at 7
//    | argument (u64)       | zero                                  |    other kinds
//    +----------------------+---------------------------------------+
//    52       56     60           62       63            64
//    +--------+------+------------+--------+-------------+
//    | number | node | graph task | thread | node thread |    from PyTorch's autograd; zero without it
//    +--------+------+------------+--------+-------------+
//
// Each ring has one writer. When a call is entered (ENTER), the writer clears the serial, fills the record, then stores
// the serial (release). When the call returns (EXIT), the writer sets kResult and kFlags. A record thus shows whether
// its call returned.
#pragma once

#include <cstdint>

#include "wire/bytes.h"

namespace cudadiag::wire::operation {

enum class Kind : std::uint8_t {
  none = 0,
  kernel = 1,
  graph = 2,  // cuGraphLaunch: kArgument is the CUgraphExec
  copy = 3,   // bytes_of() is 0 if the call does not give the size
  memset = 4,
  prefetch = 5,
  host_function = 6,
  event_record = 7,       // kArgument is the CUevent
  event_wait = 8,         // the stream waits for the CUevent in kArgument
  event_sync = 9,         // the host saw the CUevent in kArgument complete (cuEventSynchronize, cuEventQuery)
  allocation = 10,        // stream-ordered allocation or free; kArgument is the number of bytes, or 0 for a free
  memory_operation = 11,  // cuStreamWaitValue*, cuStreamWriteValue*, …: see MemoryOperation
  // The kinds from here to stream_made are not stream operations. The recorder writes them only for race detection
  // (race_record.h).
  parameters = 12,
  rows = 13,
  host_saw_stream = 14,
  host_saw_context = 15,
  event_made = 16,
  memory_made = 17,
  memory_freed = 18,
  stranger_met = 19,
  graph_made = 20,
  graph_node = 21,
  graph_edges = 22,
  stream_made = 23,
  // Not a stream operation. The CUevent in kArgument was destroyed, or was recorded for a whole context. Where it was
  // last recorded is unknown from here on.
  event_forgotten = 24,
  source_watched = 25,  // this and all later kinds are also only for race detection
  source_changed = 26,
  array_made = 27,
  image_made = 28,
  array_side = 29,
  tensor_map_made = 30,
  tensor_map = 31,
};

// The effect of a memory operation. kArgument is the address that the operation uses, or the handle of its semaphore. A
// batch of operations is described by its first wait or, if it has none, by its first write.
enum class MemoryOperation : std::uint8_t {
  unknown = 0,
  write = 1,
  wait_at_least = 2,  // waits until the word is at least the value, in cyclic order
  wait_equal = 3,
  wait_and = 4,
  wait_nor = 5,
  wait_semaphore = 6,
  signal_semaphore = 7,
};

constexpr bool is_race_record(Kind kind) {
  return (kind >= Kind::parameters && kind <= Kind::stream_made) ||
         (kind >= Kind::source_watched && kind <= Kind::tensor_map);
}

// Returns true if the GPU executes the operation in stream order. These operations have ordinals, and any of them may
// be the one that failed.
constexpr bool has_ordinal(Kind kind) {
  return kind != Kind::none && kind != Kind::event_sync && kind != Kind::event_forgotten && !is_race_record(kind);
}
// Returns true if the operation can raise a device exception.
constexpr bool can_fault(Kind kind) {
  return kind == Kind::kernel || kind == Kind::graph || kind == Kind::copy || kind == Kind::memset ||
         kind == Kind::prefetch;
}

// Returns true if the GPU can hang in the operation. These operations have a site.
constexpr bool can_stand(Kind kind) {
  return can_fault(kind) || kind == Kind::event_wait || kind == Kind::memory_operation || kind == Kind::host_function;
}

enum Flag : std::uint8_t {
  kReturned = 1,    // the call has returned; kResult is valid
  kCaptured = 2,    // issued during a capture: a graph node, without an ordinal. An event wait that
                    // added its stream to the capture has an ordinal, but was not queued
  kContended = 4,   // another thread was in a call on the same stream, so the queue order may differ from the ordinals
  kBlocking = 8,    // the call returned only after the operation had finished
  kSaturated = 16,  // a dimension or size did not fit its field; `errors` has the full number if the call failed
  kMarked = 32,     // a marker was queued directly after it
  kMarkedBefore = 64,  // a marker that covers all earlier operations of the stream was queued directly before it
  kAlone = 128,        // in a rerun, the recorder waited for it while nothing else could run or be issued
};

inline constexpr std::uint32_t kNoStream = 0xffffffff;  // truncated to the width of narrower fields

// The low half of the record's 1-based number in its thread. The thread's entry has the full number of the newest
// record. 0 means that the record is being written, so numbers whose low half is 0 are skipped.
inline constexpr Field<std::uint32_t, 0> kSerial;
inline constexpr Field<std::uint8_t, 4> kKind;           // Kind
inline constexpr Field<std::uint8_t, 5> kFlags;          // Flag
inline constexpr Field<std::uint8_t, 6> kThread;         // index in `threads`
inline constexpr Field<std::uint64_t, 8> kTicks;         // at ENTER
inline constexpr Field<std::uint32_t, 16> kOrdinal;      // 1-based on its stream; 0 if none
inline constexpr Field<std::uint32_t, 20> kSiteOrdinal;  // 1-based among the calls at its site
inline constexpr Field<std::uint16_t, 24> kSite;         // intern id; 0 if unknown
inline constexpr Field<std::uint16_t, 26> kStream;       // index in `streams`, or kNoStream
inline constexpr Field<std::uint16_t, 28> kResult;       // CUresult

// Packs three dimensions into one number. A dimension that does not fit its bits is stored as the largest value that
// fits.
template <typename T, unsigned X, unsigned Y, unsigned Z>
struct Dimensions {
  static_assert(X + Y + Z <= 8 * sizeof(T));
  static constexpr bool fit(const std::uint32_t (&d)[3]) { return (d[0] >> X | d[1] >> Y | d[2] >> Z) == 0; }
  static constexpr T pack(const std::uint32_t (&d)[3]) {
    if (fit(d)) [[likely]]
      return static_cast<T>(d[0] | d[1] << X | d[2] << (X + Y));
    return static_cast<T>(cut(d[0], X) | cut(d[1], Y) << X | cut(d[2], Z) << (X + Y));
  }
  static constexpr std::uint32_t x(T packed) { return packed & ((1u << X) - 1); }
  static constexpr std::uint32_t y(T packed) { return packed >> X & ((1u << Y) - 1); }
  static constexpr std::uint32_t z(T packed) { return packed >> (X + Y) & ((1u << Z) - 1); }

 private:
  static constexpr std::uint32_t cut(std::uint32_t value, unsigned bits) {
    const std::uint32_t most = (1u << bits) - 1;
    return value < most ? value : most;
  }
};
using Block = Dimensions<std::uint32_t, 12, 12, 8>;  // the driver accepts at most 1024, 1024, 64
using Cluster = Dimensions<std::uint16_t, 5, 5, 5>;  // the driver accepts at most 16 blocks

// For kernels: the dimensions of the launch.
inline constexpr Field<std::uint32_t, 32> kGridX;
inline constexpr Field<std::uint16_t, 36> kGridY;
inline constexpr Field<std::uint16_t, 38> kGridZ;
inline constexpr Field<std::uint32_t, 40> kBlock;        // Block
inline constexpr Field<std::uint32_t, 44> kSharedBytes;  // dynamic shared memory
inline constexpr Field<std::uint16_t, 48> kCluster;      // Cluster; 0 if none

// Copies, memsets and prefetches: the addresses passed to the call, or 0 if there are none (an array, a batch).
inline constexpr Field<std::uint64_t, 32> kDestination;
inline constexpr Field<std::uint64_t, 40> kSource;
inline constexpr Field<std::uint32_t, 48> kBytes;
inline constexpr Field<std::uint8_t, 7> kBytesAbove;  // bits 32 to 39 of the number of bytes
inline constexpr std::uint64_t kMostBytes = (std::uint64_t{1} << 40) - 1;

constexpr bool has_bytes(Kind kind) { return kind == Kind::copy || kind == Kind::memset || kind == Kind::prefetch; }
inline std::uint64_t bytes_of(const std::byte* record) {
  return std::uint64_t{load(record, kBytesAbove)} << 32 | load(record, kBytes);
}

// For all other kinds. See Kind for the meaning.
inline constexpr Field<std::uint64_t, 32> kArgument;

// For event syncs: when the call began. kTicks is the time at which it returned.
inline constexpr Field<std::uint64_t, 40> kBegan;  // ticks at ENTER; 0 if unknown

// For event records and event waits.
inline constexpr Field<std::uint64_t, 40> kReturnedAt;  // ticks at EXIT; 0 if unknown
constexpr bool has_returned_at(Kind kind) { return kind == Kind::event_record || kind == Kind::event_wait; }

// For memory operations.
inline constexpr Field<std::uint64_t, 40> kValue;          // the value written or waited for; 0 for a semaphore
inline constexpr Field<std::uint8_t, 7> kMemoryOperation;  // MemoryOperation

// For graph launches: the graph that was instantiated, and the number of this launch among the launches of that graph.
inline constexpr Field<std::uint32_t, 40> kGraph;     // intern id of a graph; 0 if unknown
inline constexpr Field<std::uint32_t, 44> kReplay;    // 1-based; 0 if unknown
inline constexpr Field<std::uint8_t, 7> kGraphFlags;  // GraphFlag
// 1 + the index of the first node's word in `graph_words`; 0 if the graph has no words. Each node has one word, which
// is 1 once the node has finished. The words describe this launch only if nothing else ran and the graph was not
// launched again.
inline constexpr Field<std::uint32_t, 48> kGraphWords;

enum GraphFlag : std::uint8_t {
  kGraphAltered = 1,    // nodes were disabled or given different kernels or dimensions after the graph was described,
                        // or kernels may change them
  kGraphRepointed = 2,  // nodes were given new parameters: earlier descriptions of their pointers may be wrong
  kGraphUntold = 4,     // for some of these nodes, it is unknown what changed them
};

// PyTorch's autograd numbers the nodes of a thread's graph as it creates them. It creates an operator's node just
// before the operator launches anything. The operator's launches therefore have kNumber = the node's number + 1, like
// all launches until the next node. Numbers are truncated to 32 bits and wrap after 2^32 nodes of one thread.
inline constexpr Field<std::uint32_t, 52> kNumber;     // the launching thread's count of nodes
inline constexpr Field<std::uint32_t, 56> kNode;       // number of the node whose backward function is running
inline constexpr Field<std::uint16_t, 60> kGraphTask;  // number of the backward() call that runs the node, truncated
inline constexpr Field<std::uint8_t, 62> kOwnThread;   // PyTorch's number for the launching thread; 0 without PyTorch
inline constexpr Field<std::uint8_t, 63> kNodeThread;  // thread that created the running node; 0 if no node is running
inline constexpr Field<std::uint16_t, 30> kNodeType;   // intern id of a node type; 0 if unknown
inline constexpr std::uint8_t kManyThreads = 0xff;     // replaces a thread number that does not fit; matches no thread
inline constexpr std::uint32_t kUnnumbered = 0xffffffff;  // kNode of a node that accumulates the gradient of a leaf

}  // namespace cudadiag::wire::operation

// Types of graph nodes, numbered as in CUgraphNodeType, and which of them get completion markers.
namespace cudadiag::wire::graph_node {

inline constexpr std::uint8_t kKernel = 0, kCopy = 1, kMemset = 2, kChildGraph = 4;
inline constexpr std::uint8_t kEventWait = 6, kEventRecord = 7;
inline constexpr std::uint8_t kAllocation = 10, kFree = 11, kConditional = 13;

// Returns true if the node can raise a device exception. Only these nodes get markers.
constexpr bool is_marked(std::uint8_t type) { return type == kKernel || type == kCopy || type == kMemset; }
// Returns true if a graph with a node of this type cannot have markers. No node can be added to a graph with allocation
// or free nodes, and the recorder cannot change the body of a conditional node.
constexpr bool forbids_markers(std::uint8_t type) {
  return type == kAllocation || type == kFree || type == kConditional;
}

}  // namespace cudadiag::wire::graph_node
