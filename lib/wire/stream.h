// Contexts, streams and their markers.
//
// Entry i of `streams` owns marker i: a 32-bit word in host memory. The GPU writes ordinals to it in stream order. All
// operations up to the ordinal in a marker have finished. The driver reuses handles, so an entry describes one lifetime
// of one stream. A stream is identified by its index, not by its handle.
#pragma once

#include <cstdint>

#include "wire/bytes.h"

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
