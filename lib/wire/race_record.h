// Records that the recorder adds to the rings when race detection is on: work that the host saw finish, memory
// allocated and freed, and the addresses passed to kernels. They have the layout of operation.h. They use the serial,
// kind, thread and ticks of that layout, and these fields:
//
//    parameters       site: the kernel's function id; words: up to 4 parameter words, possibly addresses, of the kernel
//                     recorded next in the same ring; 0 if unused; offsets: where these words are; zeros: a bit for
//                     each of the first 32 4-byte units that is 0. The lower half of an aligned 8-byte unit counts as 0
//                     only if the upper half is 0 too
//    rows             width, rows, pitches of the copy or memset whose record follows; argument, addresses: as in that
//                     record
//    host_saw_stream  stream: all work issued to it earlier has finished, because a copy from word 1 to word 2 (or a
//                     memset of both) has returned; word 0: Seen, the condition for this
//    host_saw_context word 0: index of the context; all work issued to it earlier has finished
//    stream_made      stream: index of its entry, which is valid from now on; ticks: kCreated; word 0: handle, word 1:
//                     uid of its context, word 2: flags as in tables.h
//    event_made       word 0: CUevent, in which no work is recorded; word 1: 1 if it was destroyed
//    memory_made      word 0: address, word 1: bytes, word 2: wire::allocation::Kind, word 3: index of its context;
//                     stream: for stream-ordered memory
//    memory_freed     word 0: address, word 1: index of its context, word 2: 1 if the call waits for all work of that
//                     context; stream: for stream-ordered memory. Like memory_made, it has a site
//    stranger_met     a call that the recorder does not track; it may make all later work wait for all earlier work
//    graph_made       word 0: CUgraphExec, word 1: number of nodes that follow, with their edges, in the same ring, or
//                     0 if its effect on memory is unknown; word 2: GraphOrder, or 0 for a changed graph, whose
//                     GraphOrder stays the same; kGone alone: the executable graph no longer exists
//    graph_node       node, type: index and CUgraphNodeType of the node; site: where it was created; word 0:
//                     CUgraphExec; copies and memsets: word 1 destination, word 2 source, word 3 bytes; event nodes:
//                     word 1 CUevent. The record of its parameters or rows precedes it. If word 0 is 0: one copy of the
//                     batch whose record follows in the same ring; source 0: not given; bytes 0: unknown; type:
//                     SourceOrder. If the type has kHasEnded: the memory at word 1, which the node uses, has ended;
//                     word 2: Ended | kIsSource << 32 if the node reads it | frame << 40; word 3: how far it is below
//                     the end of that frame (DWARF's CFA). `frame` is the 1-based number of the variable's function in
//                     the native stack of the site; 0 if unknown. The graph's launch follows in the same ring
//    source_watched   the recorder watches the source of the copy, or those of the graph's copies, whose record follows
//                     in the same ring; word 0: 1-based number of this watch
//    source_changed   a watched source changed before its copy or graph began; word 0: number of the watch; words 1 and
//                     2: address of the first byte known to have changed, and of the byte after the last one; word 3:
//                     number of bytes; offset 0: SourceChange; offsets 1 and 2: sites of the last call of the issuing
//                     thread at which the source was unchanged, and of its next call, before which it had changed; 0
//                     if unknown
//    array_made       word 0: CUarray; word 1: bytes of a row, or 0 if the array was destroyed; word 2:
//                     rows | layers << 32; word 3: bytes of an element
//    image_made       word 0: handle of a texture or surface; word 1: its CUarray or address, or 0 if it was destroyed;
//                     word 2: bytes of a row; word 3: rows | pitch << 32; words 2 and 3 are 0 for an array; offset 0:
//                     ImageFlag; offset 1: bytes of an element; zeros: index of its context
//    array_side       the copy, or the part of a batch, whose record follows in the same ring has an array on one side;
//                     word 0: CUarray; word 1: x | y << 32; word 2: z | depth << 32; word 3: width | height << 32;
//                     offset 0: SideFlag
//    tensor_map_made  word 0: hash_bytes() of a CUtensorMap; offset 0: TensorMapPart; kTensorShape: words 1 and 2:
//                     numbers of elements in the four dimensions, 32 bits each; word 3: rank |
//                     bytes of an element << 8, then for each dimension 8 bits with the box's elements minus 1, from
//                     bit 16 on; kTensorStrides: words 1 to 3: bytes from one element to the next in dimensions 1 to 3
//    tensor_map       word 0: hash_bytes() of an encoded CUtensorMap among the parameters of the kernel recorded next
//                     in the same ring; offset 0: where it begins
//    graph_edges      word 0: CUgraphExec; words 1 to 3: from | to << 32, both 1 + the index of a node; 0: fewer edges
#pragma once

#include <cstdint>

#include "wire/bytes.h"
#include "wire/operation.h"

namespace cudadiag::wire::race {

inline constexpr std::size_t kBody = 32;     // offset after the fields that all kinds have
inline constexpr std::size_t kOffsets = 16;  // the offset at which operations have their ordinals

inline constexpr std::size_t kWords = 4;
inline constexpr std::size_t kMostParts = 256;  // number of copies of a batch that are recorded; the others are not
inline constexpr std::size_t kMostWords = 32;   // at most this many are recorded for one launch
inline constexpr Field<std::uint64_t, kBody> kWord0;
inline constexpr Field<std::uint64_t, kBody + 8> kWord1;
inline constexpr Field<std::uint64_t, kBody + 16> kWord2;
inline constexpr Field<std::uint64_t, kBody + 24> kWord3;
inline constexpr Field<std::uint16_t, kOffsets> kOffset0;
inline constexpr Field<std::uint16_t, kOffsets + 2> kOffset1;
inline constexpr Field<std::uint16_t, kOffsets + 4> kOffset2;
inline constexpr Field<std::uint16_t, kOffsets + 6> kOffset3;

inline constexpr Field<std::uint32_t, 28> kZeros;

inline constexpr Field<std::uint64_t, kBody> kWidth;
inline constexpr Field<std::uint64_t, kBody + 8> kDestinationPitch;
inline constexpr Field<std::uint64_t, kBody + 16> kSourcePitch;
inline constexpr Field<std::uint32_t, kOffsets> kRows;

inline constexpr Field<std::uint32_t, kOffsets> kNode;
inline constexpr Field<std::uint32_t, kOffsets + 4> kNodeType;
// In kNodeType. kInChild: the node lies in a child graph. kHasEnded: its memory no longer exists.
inline constexpr std::uint32_t kInChild = 0x80000000, kHasEnded = 0x40000000;
inline constexpr std::uint32_t kFlagsOfNode = kInChild | kHasEnded;

// The condition under which the return of a copy or memset proves that earlier work of its stream has finished.
enum Seen : std::uint64_t {
  kAnyway,           // always
  kUnlessOnDevices,  // unless both addresses are in device memory
  kIfOnHost,         // if both are in host memory, or the driver does not know the destination; 0: not in host memory
};

enum ImageFlag : std::uint16_t {
  kSurface = 1,
  kOfArray = 2,
};

enum SideFlag : std::uint16_t {
  kIsSource = 1,
  kInElements = 2,  // x and width are numbers of elements, not of bytes
};

enum TensorMapPart : std::uint16_t {
  kTensorShape,
  kTensorStrides,
};

// When a copy in a batch may read its source (CUmemcpySrcAccessOrder).
enum SourceOrder : std::uint32_t {
  kInStreamOrder,
  kDuringCall,  // before the call returns, and perhaps before earlier work of the stream has finished
  kAnyTime,     // after the call began, and perhaps before earlier work of the stream has finished
};

// How the memory of a graph's node ended.
enum class Ended : std::uint8_t {
  no,
  returned,     // a variable whose function has returned
  with_thread,  // a variable on the stack of a thread that has ended
  freed,        // a block that was freed
};

enum SourceChange : std::uint16_t {
  kWhileHeld = 1,   // the source changed after all work ordered before the copy had finished
  kSampled = 2,     // not all bytes of the source were compared
  kOthersRan = 8,   // other threads of the process ran between the calls of offsets 1 and 2
  kAfterBegin = 4,  // the source changed after its graph had begun, and before the graph had finished
};

// How a graph's nodes affect the order of work outside the graph.
enum GraphOrder : std::uint64_t {
  kTells = 1,  // some nodes may end waits of other work: events, host functions, words in memory, external semaphores
  kWaits = 2,  // some nodes wait for other work
  kGone = 4,
};

}  // namespace cudadiag::wire::race
