// Records that the recorder adds to the rings if races are looked for: work that the host saw finish, memory that is
// allocated and freed, and the addresses that kernels are given. They are records as in operation.h, of kinds of their
// own, with serial, kind, thread and ticks, and these fields:
//
//    parameters       site: the kernel's function id; offsets, words: 4 words among the parameters of the kernel whose
//                     record follows in the same ring, that may be addresses; 0: fewer; zeros: of the first 32 times
//                     4 bytes of its parameters, a bit for each that are 0, the upper 4 of 8 with them
//    rows             of the copy or memset whose record follows: width, rows, pitches; argument and addresses are its
//    host_saw_stream  stream: everything issued to it before has finished, by word 0 (Seen): a copy from word 1 to
//                     word 2, or a memset of both, has returned
//    host_saw_context word 0: index of the context
//    stream_made      stream: its entry is this stream's from now on, its ticks are kCreated; word 0: handle,
//                     word 1: uid of its context, word 2: flags as in stream.h
//    event_made       word 0: CUevent: nothing is recorded in it; word 1: 1 if it is no event any more
//    memory_made      word 0: address, word 1: bytes, word 2: wire::allocation::Kind, word 3: index of its context;
//                     stream: of stream-ordered ones
//    memory_freed     word 0: address, word 2: 1 if the call waits for all work of its context, whose index is word 1;
//                     stream: of stream-ordered ones
//                     both have a site
//    stranger_met     a call that is not followed may let all that follows wait for all that was issued before
//    graph_made       word 0: CUgraphExec, word 1: number of nodes that follow, with their edges, in the same ring; 0:
//                     what it does to memory is not known; word 2: GraphOrder, 0 of a graph that was changed: as
//                     before; kGone alone: it is no executable graph any more
//    graph_node       node, type: its index and CUgraphNodeType; site: its own; word 0: CUgraphExec; of copies and
//                     memsets word 1: destination, word 2: source, word 3: bytes; of those of events word 1: CUevent.
//                     Its parameters or rows come before it. With word 0 = 0: a copy of the batch of copies whose record
//                     follows in the same ring; source 0: not told; bytes 0: not known
//    source_watched   word 0: number of the watch of the copy whose record follows in the same ring; from 1
//    source_changed   the source of that copy changed before the copy began; word 0: number of the watch; words 1 and 2:
//                     address of the first byte that is known to have changed, and of the one after the last; word 3:
//                     number of bytes; offset 0: SourceChange
//    graph_edges      word 0: CUgraphExec; words 1 to 3: from | to << 32, both 1 + the index of a node; 0: fewer
#pragma once

#include <cstdint>

#include "wire/bytes.h"
#include "wire/operation.h"

namespace cudadiag::wire::race {

inline constexpr std::size_t kBody = 32;     // behind what all kinds have
inline constexpr std::size_t kOffsets = 16;  // where operations have their ordinals

inline constexpr std::size_t kWords = 4;
inline constexpr std::size_t kMostParts = 256;  // of a batch of copies: others are not told
inline constexpr std::size_t kMostWords = 32;   // that are told of one launch: with so many there may be more
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
inline constexpr std::uint32_t kInChild = 0x80000000;  // in kNodeType: the node lies in a child graph

// Whether the host has seen it, by what is known of both places.
enum Seen : std::uint64_t {
  kAnyway,
  kUnlessOnDevices,
  kIfOnHost,  // or if the driver does not know the destination; source 0: it is not on the host
};

enum SourceChange : std::uint16_t {
  kWhileHeld = 1,  // after all that was ordered before the copy had finished
  kSampled = 2,    // not all bytes of the source were compared
};

// Further order that a graph's nodes may cause.
enum GraphOrder : std::uint64_t {
  kTells = 1,  // let others go on: events, host functions, words in memory, external semaphores
  kWaits = 2,  // wait for others
  kGone = 4,
};

}  // namespace cudadiag::wire::race
