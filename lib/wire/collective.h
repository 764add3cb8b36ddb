// The NCCL communicators of a process, and the calls on them, as NCCL reports them to its profiler plugin.
//
// communicators: an entry for each communicator that the process created, in order of creation.
// peers: an entry for each communicator, peer and direction, with the number of sends or receives.
// collectives: the latest calls of all communicators, in a ring; call n has entry (n - 1) % kCollectives. If that entry
// has a different number, call n is being written, or was overwritten.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "wire/bytes.h"

namespace cudadiag::wire::communicator {

inline constexpr std::size_t kSize = 128;
inline constexpr std::size_t kNameSize = 48;

enum class State : std::uint32_t { free = 0, live = 1, finalized = 2 };

inline constexpr Field<std::uint32_t, 0> kState;  // stored last (release)
inline constexpr Field<std::int32_t, 4> kRank;
inline constexpr Field<std::uint64_t, 8> kHash;          // the same on all ranks
inline constexpr Field<std::int32_t, 16> kRanks;         // 0 if NCCL does not report it (interface versions 2 and 3)
inline constexpr Field<std::int32_t, 20> kVersion;       // version of the interface through which NCCL reported it
inline constexpr Field<std::uint64_t, 24> kMade;         // ticks
inline constexpr Field<std::uint64_t, 32> kCollectives;  // collectives called in the whole run, except captured ones
inline constexpr Field<std::uint64_t, 40> kCaptured;     // collectives captured into a graph
inline constexpr std::size_t kName = 48;                 // name that the program gave it; zeros if none

}  // namespace cudadiag::wire::communicator

namespace cudadiag::wire::peer {

inline constexpr std::size_t kSize = 16;

// kUsed | direction | communicator | peer; 0 if the entry is free. A key never changes once it is stored.
inline constexpr Field<std::uint64_t, 0> kKey;
inline constexpr Field<std::uint64_t, 8> kCalls;  // number of calls in the whole run

inline constexpr std::uint64_t kUsed = std::uint64_t{1} << 63;
inline constexpr std::uint64_t kReceives = std::uint64_t{1} << 62;
constexpr std::uint64_t key_of(std::uint32_t communicator, std::uint32_t peer, bool receives) {
  return kUsed | (receives ? kReceives : 0) | std::uint64_t{communicator & 0xffff} << 32 | peer;
}
constexpr std::uint32_t communicator_of(std::uint64_t key) { return static_cast<std::uint32_t>(key >> 32 & 0xffff); }
constexpr std::uint32_t peer_of(std::uint64_t key) { return static_cast<std::uint32_t>(key); }

}  // namespace cudadiag::wire::peer

namespace cudadiag::wire::collective {

inline constexpr std::size_t kSize = 64;

// NCCL's functions. `other` is a function that is not in this list.
enum class Function : std::uint8_t {
  other,
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  all_to_all,
  gather,
  scatter,
  send,
  receive,
};
inline constexpr std::array<std::string_view, 11> kFunctionNames = {
    "",         "AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce",
    "AlltoAll", "Gather",    "Scatter",   "Send",          "Recv"};
constexpr bool is_point_to_point(Function function) {
  return function == Function::send || function == Function::receive;
}

// NCCL's element types. `other` is a type that is not in this list.
enum class Type : std::uint8_t { other, i8, u8, i32, u32, i64, u64, f16, f32, f64, bf16, f8e4m3, f8e5m2 };
inline constexpr std::array<std::string_view, 13> kTypeNames = {"",
                                                                "ncclInt8",
                                                                "ncclUint8",
                                                                "ncclInt32",
                                                                "ncclUint32",
                                                                "ncclInt64",
                                                                "ncclUint64",
                                                                "ncclFloat16",
                                                                "ncclFloat32",
                                                                "ncclFloat64",
                                                                "ncclBfloat16",
                                                                "ncclFloat8e4m3",
                                                                "ncclFloat8e5m2"};

enum Flag : std::uint8_t {
  kCaptured = 1,      // captured into a graph, so it has no ordinals
  kBeforeLaunch = 2,  // recorded before its kernel was launched; otherwise just after, by the launching thread
};

inline constexpr Field<std::uint64_t, 0> kNumber;  // 1-based among the process's calls; cleared first, stored last
inline constexpr Field<std::uint64_t, 8> kTicks;
inline constexpr Field<std::uint64_t, 16> kCount;    // number of elements
inline constexpr Field<std::uint64_t, 24> kStream;   // CUstream, if kBeforeLaunch is set
inline constexpr Field<std::uint32_t, 32> kOrdinal;  // 1-based among the communicator's collectives, among its sends to
                                                     // this peer, or among its receives from this peer; 0 if unknown
inline constexpr Field<std::uint32_t, 36> kOfFunction;  // 1-based among its calls of this function; 0 if unknown
inline constexpr Field<std::int32_t, 40> kPeer;         // peer of a send or receive, root of a collective; -1 if none
inline constexpr Field<std::uint16_t, 44> kCommunicator;
inline constexpr Field<std::uint16_t, 46> kSite;     // 0 if unknown
inline constexpr Field<std::uint8_t, 48> kFunction;  // Function
inline constexpr Field<std::uint8_t, 49> kType;      // Type
inline constexpr Field<std::uint8_t, 50> kFlags;     // Flag
inline constexpr Field<std::uint8_t, 51> kThread;    // index in `threads`; 0xff if the thread has no entry

}  // namespace cudadiag::wire::collective
