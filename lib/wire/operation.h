// One operation record: 80 bytes, in a thread's ring or in a stream's `held` places.
//
//    0        8     9     10      12     16       20        24       28             32      40
//    +--------+-----+-----+-------+------+--------+---------+--------+--------------+-------+
//    | serial |kind |flags| thread| site | stream | ordinal | result | site ordinal | ticks |
//    +--------+-----+-----+-------+------+--------+---------+--------+--------------+-------+
//    40       44     46     48      50      52      54          56             60        64
//    +--------+------+------+-------+-------+-------+-----------+--------------+---------+
//    | grid x |  y   |  z   |block x|   y   |   z   |cluster x,y| shared bytes |cluster z|    kernels
//    +--------+------+------+-------+-------+-------+-----------+--------------+---------+
//    | argument (u64)| graph: id, replay, flags, words                                   |    graph launches
//    | argument (u64)| destination (u64) | source (u64)                                  |    copies and the like
//    | argument (u64)| zero                                                              |    other kinds
//    64       68     72       74            76          78          80
//    +--------+------+--------+-------------+-----------+-----------+
//    | number | node | thread | node thread | graph task| node type |    what PyTorch's autograd says; zero without it
//    +--------+------+--------+-------------+-----------+-----------+
//
// The ring's single writer clears the serial, fills the record, then stores the serial (release). It
// does so at ENTER of the call, and patches kResult and kFlags at EXIT: a record whose call never
// returned says so.
#pragma once

#include <cstdint>

#include "wire/bytes.h"

namespace cudadiag::wire::operation {

enum class Kind : std::uint8_t {
  none = 0,
  kernel = 1,
  graph = 2,   // cuGraphLaunch: kArgument is the CUgraphExec
  copy = 3,    // kArgument is the number of bytes where the call says it, else 0
  memset = 4,  // kArgument is the number of bytes
  prefetch = 5,
  host_function = 6,
  event_record = 7,       // kArgument is the CUevent
  event_wait = 8,         // the stream waits for the CUevent in kArgument
  event_sync = 9,         // the host saw the CUevent in kArgument complete (cuEventSynchronize, cuEventQuery)
  allocation = 10,        // stream-ordered allocation or free; kArgument is the number of bytes; 0: a free
  memory_operation = 11,  // cuStreamWaitValue*, cuStreamWriteValue*, …: see MemoryOperation
};

// kSource of a memory operation. kArgument is the address and kDestination the value; of a semaphore, its handle and 0.
// A batch is its first wait, else its first write.
enum class MemoryOperation : std::uint64_t {
  unknown = 0,
  write = 1,
  wait_at_least = 2,  // until the word is at least the value, in cyclic order
  wait_equal = 3,
  wait_and = 4,
  wait_nor = 5,
  wait_semaphore = 6,
  signal_semaphore = 7,
};

// Whether the GPU takes the operation in stream order, so that it has an ordinal and can be the one that failed.
constexpr bool has_ordinal(Kind kind) { return kind != Kind::none && kind != Kind::event_sync; }
// Whether it can be the one that raised a device exception.
constexpr bool can_fault(Kind kind) {
  return kind == Kind::kernel || kind == Kind::graph || kind == Kind::copy || kind == Kind::memset ||
         kind == Kind::prefetch;
}

// Whether the GPU may stand still at it, for ever: such operations have a site.
constexpr bool can_stand(Kind kind) {
  return can_fault(kind) || kind == Kind::event_wait || kind == Kind::memory_operation || kind == Kind::host_function;
}

enum Flag : std::uint8_t {
  kReturned = 1,       // EXIT was seen; kResult holds
  kCaptured = 2,       // issued into a capture: it became a graph node and has no ordinal
  kContended = 4,      // another thread was inside a call on the same stream: its ordinal may be off by the overlap
  kBlocking = 8,       // the call returned only after the operation had finished
  kSaturated = 16,     // a dimension did not fit its field: `errors` has it in full if the call failed
  kMarked = 32,        // a marker was queued directly behind it
  kMarkedBefore = 64,  // a marker was queued directly before it: it covers all earlier operations of the stream
  kAlone = 128,        // in a rerun: it was waited for, and nothing else was running or could be issued meanwhile
};

inline constexpr std::uint32_t kNoStream = 0xffffffff;

inline constexpr Field<std::uint64_t, 0> kSerial;        // 1-based count of the thread's records; 0: being written
inline constexpr Field<std::uint8_t, 8> kKind;           // Kind
inline constexpr Field<std::uint8_t, 9> kFlags;          // Flag
inline constexpr Field<std::uint16_t, 10> kThread;       // index in `threads`
inline constexpr Field<std::uint32_t, 12> kSite;         // intern id; 0: not known
inline constexpr Field<std::uint32_t, 16> kStream;       // index in `streams`, or kNoStream
inline constexpr Field<std::uint32_t, 20> kOrdinal;      // 1-based on its stream; 0: none
inline constexpr Field<std::uint32_t, 24> kResult;       // CUresult
inline constexpr Field<std::uint32_t, 28> kSiteOrdinal;  // 1-based: which call of its site
inline constexpr Field<std::uint64_t, 32> kTicks;        // at ENTER

// Kernels: dimensions as launched, saturating (the driver's own limits fit).
inline constexpr Field<std::uint32_t, 40> kGridX;
inline constexpr Field<std::uint16_t, 44> kGridY;
inline constexpr Field<std::uint16_t, 46> kGridZ;
inline constexpr Field<std::uint16_t, 48> kBlockX;
inline constexpr Field<std::uint16_t, 50> kBlockY;
inline constexpr Field<std::uint16_t, 52> kBlockZ;
inline constexpr Field<std::uint8_t, 54> kClusterX;  // 0: no cluster
inline constexpr Field<std::uint8_t, 55> kClusterY;
inline constexpr Field<std::uint32_t, 56> kSharedBytes;  // dynamic shared memory
inline constexpr Field<std::uint32_t, 60> kClusterZ;

// All other kinds: see Kind.
inline constexpr Field<std::uint64_t, 40> kArgument;

// Copies, memsets and prefetches: the addresses that the call names, 0 where it names none (an array, a batch).
// Memory operations: see MemoryOperation.
inline constexpr Field<std::uint64_t, 48> kDestination;
inline constexpr Field<std::uint64_t, 56> kSource;

// Graph launches: what the executable graph was made of, and which launch of it this is.
inline constexpr Field<std::uint32_t, 48> kGraph;       // intern id of a graph; 0: not known
inline constexpr Field<std::uint32_t, 52> kReplay;      // 1-based; 0: not known
inline constexpr Field<std::uint32_t, 56> kGraphFlags;  // GraphFlag
// 1 + the first of its nodes' words in `graph_words`, one per node: 1 where the node has finished. 0: it has none. They
// speak of this launch if it was alone and no other one of the same graph followed.
inline constexpr Field<std::uint32_t, 60> kGraphWords;

enum GraphFlag : std::uint32_t {
  kGraphAltered = 1,  // nodes were given other kernels or dimensions, or switched off, after the graph was described
};

// PyTorch's autograd numbers the nodes of a thread's graph as they are made, and makes an operator's node just before
// the operator launches anything: kNumber of its launches is the node's number + 1 (and of those that follow, until the
// next node is made). Numbers are cut to 32 bits: they come round after 2^32 nodes of one thread.
inline constexpr Field<std::uint32_t, 64> kNumber;        // the launching thread's count of nodes
inline constexpr Field<std::uint32_t, 68> kNode;          // number of the node that is being run backwards
inline constexpr Field<std::uint16_t, 72> kOwnThread;     // PyTorch's number of the launching thread; 0: no PyTorch
inline constexpr Field<std::uint16_t, 74> kNodeThread;    // of the thread that made the node; 0: no node is being run
inline constexpr Field<std::uint16_t, 76> kGraphTask;     // which call of backward() runs it, cut to 16 bits
inline constexpr Field<std::uint16_t, 78> kNodeType;      // intern id of a node type; 0: not known
inline constexpr std::uint16_t kManyThreads = 0xffff;     // a thread number that does not fit: it is nobody's
inline constexpr std::uint32_t kUnnumbered = 0xffffffff;  // kNode of the node that accumulates a leaf's gradient

}  // namespace cudadiag::wire::operation
