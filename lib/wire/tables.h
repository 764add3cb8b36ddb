// Entries of the tables in an area: contexts, streams, threads, allocations, and parameters of launches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/bytes.h"

// Contexts, streams and their markers.
//
// Entry i of `streams` owns marker i: a 32-bit word in host memory. The GPU writes ordinals to it in stream order. All
// operations up to the ordinal in a marker have finished. The driver reuses handles, so an entry describes one lifetime
// of one stream. A stream is identified by its index, not by its handle.
namespace cudadiag::wire::context {

enum class State : std::uint32_t { free = 0, live = 1, destroyed = 2 };
enum class Markers : std::uint32_t { off = 0, on = 1, refused = 2 };

inline constexpr Field<std::uint32_t, 0> kState;
inline constexpr Field<std::uint32_t, 4> kUid;      // CUPTI's contextUid: never reused in a process
inline constexpr Field<std::uint64_t, 8> kHandle;   // CUcontext: reused after cudaDeviceReset
inline constexpr Field<std::uint32_t, 16> kDevice;  // the process's own device number
inline constexpr Field<std::uint32_t, 20> kMarkers;
// Bit d: the context can access what other contexts allocated on device d, for the first kPeerDevices devices. The bits
// are valid only if the top bit, kPeersKnown, is set.
inline constexpr Field<std::uint64_t, 24> kPeers;
inline constexpr std::uint32_t kPeerDevices = 63;
inline constexpr std::uint64_t kPeersKnown = std::uint64_t{1} << kPeerDevices;

}  // namespace cudadiag::wire::context

namespace cudadiag::wire::stream {

enum class State : std::uint32_t { free = 0, live = 1, destroyed = 2 };
enum Flag : std::uint32_t {
  kLegacy = 1,       // the default stream that waits for all blocking streams
  kPerThread = 2,    // the default stream of thread kThreadTid
  kNonBlocking = 4,  // does not wait for the legacy stream; unknown if the recorder first saw it during a capture
};

inline constexpr Field<std::uint32_t, 0> kState;
inline constexpr Field<std::uint32_t, 4> kContext;    // index in `contexts`
inline constexpr Field<std::uint64_t, 8> kHandle;     // CUstream as the program passes it
inline constexpr Field<std::uint64_t, 16> kStreamId;  // cuStreamGetId; 0 if the driver lacks that function
inline constexpr Field<std::uint32_t, 24> kFlags;
inline constexpr Field<std::uint32_t, 28> kThreadTid;
inline constexpr Field<std::uint32_t, 32> kIssued;          // ordinal of the newest operation
inline constexpr Field<std::uint32_t, 36> kInFlight;        // number of threads inside a call on this stream
inline constexpr Field<std::uint64_t, 32> kIssuedInFlight;  // kIssued and kInFlight in one word
inline constexpr Field<std::uint32_t, 40> kHostCompleted;   // ordinal up to which the host saw everything finish
inline constexpr Field<std::uint32_t, 44> kMarkerIssued;    // ordinal in the newest queued marker
inline constexpr Field<std::uint64_t, 48> kCreated;         // ticks; older operations are of an earlier stream

}  // namespace cudadiag::wire::stream

namespace cudadiag::wire::marker {

inline constexpr Field<std::uint32_t, 0> kCompleted;  // written by the GPU

}  // namespace cudadiag::wire::marker

namespace cudadiag::wire::frozen {

inline constexpr Field<std::uint32_t, 0> kMarker;         // the stream's marker at the freeze
inline constexpr Field<std::uint32_t, 4> kHostCompleted;  // the stream's kHostCompleted at the freeze

}  // namespace cudadiag::wire::frozen

// A thread's entry: 128 bytes. Entry i owns ring i. A new thread reuses the entry of the thread that ended first, so
// that the records of ended threads stay readable as long as possible.
namespace cudadiag::wire::thread {

enum class State : std::uint32_t { free = 0, live = 1, ended = 2 };

inline constexpr Field<std::uint32_t, 0> kState;
inline constexpr Field<std::uint32_t, 4> kTid;        // gettid()
inline constexpr Field<std::uint64_t, 8> kPublished;  // serial of the newest record; stored with release
// The call that the thread is in, for readers of a live or killed process. All fields are zero outside of calls.
inline constexpr Field<std::uint32_t, 16> kCallDomain;  // error.h's Domain
inline constexpr Field<std::uint32_t, 20> kCallId;      // CUPTI callback id
inline constexpr Field<std::uint64_t, 24> kCallTicks;
inline constexpr std::size_t kNameOffset = 32;  // 16 bytes, as in /proc/PID/task/TID/comm
inline constexpr std::size_t kNameSize = 16;
inline constexpr Field<std::uint64_t, 48> kOperations;  // number of published records whose kinds have ordinals

// The object that a call waits for. Other processes read it to find out why the call does not return. All fields except
// kCallSite are valid only if kCallSite is not 0. If the call issues an operation, the stacks are also in the
// operation's record.
enum class Wait : std::uint32_t {
  none = 0,     // the call may block, for an unknown reason
  stream = 1,   // returns when kCallStream has finished all work issued before the call
  event = 2,    // returns when the CUevent in kCallEvent has completed
  context = 3,  // returns when all streams of kCallContext have finished
};
inline constexpr Field<std::uint32_t, 56> kCallSite;     // intern id; stored last; 0 if the call cannot block
inline constexpr Field<std::uint32_t, 60> kCallWait;     // Wait
inline constexpr Field<std::uint32_t, 64> kCallStream;   // index in `streams`, or operation::kNoStream
inline constexpr Field<std::uint32_t, 68> kCallContext;  // index in `contexts`; 0xffffffff if none
inline constexpr Field<std::uint64_t, 72> kCallEvent;
inline constexpr Field<std::uint32_t, 80> kCallName;   // intern id of a string: "cuStreamSynchronize"
inline constexpr Field<std::uint32_t, 84> kCallOuter;  // intern id of a string: "cudaStreamSynchronize"; 0 if none
// The address of the thread's PyThreadState, if it runs Python and its frame layout has been verified. Otherwise 0.
inline constexpr Field<std::uint64_t, 88> kPythonState;

}  // namespace cudadiag::wire::thread

// The record of one memory allocation, from its creation to its end: 64 bytes. Entries of freed allocations stay, so
// that a reader can tell a stale pointer from a wild one. If no entry is unused, a new allocation reuses the entry that
// was freed first.
//
//    0        8         16      24            32            40     44          48     49     50       52
//    +--------+---------+-------+-------------+-------------+------+-----------+------+------+--------+
//    | serial | address | bytes | ticks made  | ticks freed | site | freed site| kind | flags| thread |
//    +--------+---------+-------+-------------+-------------+------+-----------+------+------+--------+
//    52        56       60              64
//    +---------+--------+---------------+
//    | context | stream | freed stream  |
//    +---------+--------+---------------+
//
// The writer clears the serial, fills the record, then stores the serial (release). When the allocation ends, the
// writer stores the fields that describe its end, with kFreed last (release).
namespace cudadiag::wire::allocation {

enum class Kind : std::uint8_t {
  none = 0,
  device = 1,   // cuMemAlloc, cuMemAllocPitch
  managed = 2,  // cuMemAllocManaged
  ordered = 3,  // cuMemAllocAsync, cuMemAllocFromPoolAsync
  mapped = 4,   // cuMemMap into reserved addresses
  opened = 5,   // cuIpcOpenMemHandle: memory of another process
  pinned = 6,   // host memory: cuMemAllocHost, cuMemHostAlloc
  registered = 7,
};

// Returns true if the allocation takes device memory of this process.
constexpr bool takes_device_memory(Kind kind) {
  return kind == Kind::device || kind == Kind::ordered || kind == Kind::mapped;
}

enum Flag : std::uint8_t {
  kWithContext = 1,  // freed because its context was destroyed
  kReplaced = 2,     // the driver returned its address again, although the recorder saw no call that freed it
  kWritable = 4,     // a live mapping: cuMemSetAccess has allowed a device to read and write it
};

inline constexpr std::uint32_t kNone = 0xffffffff;

inline constexpr Field<std::uint64_t, 0> kSerial;  // 1-based number among the process's allocations
inline constexpr Field<std::uint64_t, 8> kAddress;
inline constexpr Field<std::uint64_t, 16> kBytes;
inline constexpr Field<std::uint64_t, 24> kMade;   // ticks at EXIT of the allocating call
inline constexpr Field<std::uint64_t, 32> kFreed;  // ticks at ENTER of the freeing call; 0 while it is live
inline constexpr Field<std::uint32_t, 40> kSite;
inline constexpr Field<std::uint32_t, 44> kFreedSite;  // 0 if unknown
inline constexpr Field<std::uint8_t, 48> kKind;        // Kind
inline constexpr Field<std::uint8_t, 49> kFlags;       // Flag
inline constexpr Field<std::uint16_t, 50> kThread;     // index in `threads`
inline constexpr Field<std::uint32_t, 52> kContext;    // index in `contexts`, or kNone
inline constexpr Field<std::uint32_t, 56> kStream;     // index in `streams` for stream-ordered allocations, or kNone
inline constexpr Field<std::uint32_t, 60> kFreedStream;

}  // namespace cudadiag::wire::allocation

// The parameters of each thread's latest kernel launches, in slots of 192 bytes. A launch uses slot serial % kSlots of
// its thread, where `serial` is that of its record (operation.h). Only the first kThreads threads have slots.
//
//    0        4       6       8        12     16                     192
//    +--------+-------+-------+--------+------+----------------------+
//    | serial | bytes | flags | layout | zero | the first parameters |
//    +--------+-------+-------+--------+------+----------------------+
//
// bytes: how many bytes of the parameters the slot has. layout: the index of the kernel's entry in `layouts`. The
// writer clears the serial, fills the slot, then stores the serial (release).
//
// `layouts` is an array of u16. A kernel's entry consists of the number of its parameters, then the offset and size of
// each.
//
// `copied` has the contents of small copies from host memory: kernels may read addresses and indices from them. The
// destination selects the slot of 4,096 bytes, so a table that is filled again replaces itself. Copies that contain
// what looks like an address use the first half of the slots, so that others never replace them.
//
//    0        8        12      16                   4,096
//    +--------+--------+-------+--------------------+
//    | serial | thread | bytes | the first contents |
//    +--------+--------+-------+--------------------+
namespace cudadiag::wire::launch_parameters {

inline constexpr std::size_t kThreads = 64;
inline constexpr std::size_t kSlots = 512;  // per thread
inline constexpr std::size_t kSlotSize = 192;
inline constexpr std::size_t kLayouts = 1u << 19;  // number of elements of `layouts`

inline constexpr Field<std::uint32_t, 0> kSerial;  // lower half of the record's serial
inline constexpr Field<std::uint16_t, 4> kBytes;
inline constexpr Field<std::uint16_t, 6> kFlags;  // intern.h's ArgumentFlag
inline constexpr Field<std::uint32_t, 8> kLayout;
inline constexpr std::size_t kValues = 16;
inline constexpr std::size_t kMostBytes = kSlotSize - kValues;

namespace copied {

inline constexpr std::size_t kSlots = 128;
inline constexpr std::size_t kSlotSize = 4096;

inline constexpr Field<std::uint64_t, 0> kSerial;
inline constexpr Field<std::uint32_t, 8> kThread;
inline constexpr Field<std::uint32_t, 12> kBytes;
inline constexpr std::size_t kContents = 16;
inline constexpr std::size_t kMostBytes = kSlotSize - kContents;

}  // namespace copied

}  // namespace cudadiag::wire::launch_parameters
