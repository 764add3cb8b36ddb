// The record of a call that returned an error: 152 bytes. The first half of the region keeps the first failures of the
// process, and the second half is a ring of the latest ones. If a runtime call fails because a driver call inside it
// failed, one record describes both: the driver call, with the runtime call as its outer call.
#pragma once

#include <cstdint>
#include <string_view>

#include "wire/bytes.h"
#include "wire/cuda_codes.h"

namespace cudadiag::wire::error {

using cuda::is_of_capture;
using cuda::is_sticky;

// A Python library's memory pool may reject a request although no CUDA call failed. One of these names is then recorded
// as the failed call.
inline constexpr const char* kCachingAllocator = "CUDACachingAllocator::malloc";
inline constexpr const char* kCuPyPool = "cupy.cuda.MemoryPool.malloc";
inline constexpr const char* kJaxPool = "BFCAllocator::AllocateRaw";

struct Pool {
  std::string_view call, owner;
  bool may_raise_later;  // the exception may be raised at a later line than the one that needed the memory
};
inline constexpr Pool kPools[] = {
    {kCachingAllocator, "PyTorch", false}, {kCuPyPool, "CuPy", false}, {kJaxPool, "JAX", true}};

// Returns null for a CUDA call.
constexpr const Pool* pool_of(std::string_view call) {
  for (const Pool& pool : kPools) {
    if (pool.call == call) return &pool;
  }
  return nullptr;
}

enum class Domain : std::uint8_t { none = 0, driver = 1, runtime = 2 };

enum Flag : std::uint8_t {
  kLookedAt = 1,   // this thread called cudaGetLastError or cudaPeekAtLastError afterwards
  kSticky = 2,     // the context is lost
  kAtExit = 4,     // no call of the program returned it: the recorder found it just before the process or context ended
  kInCapture = 8,  // a capture was in progress in the process
  kLaunch = 16,    // the failed call is a launch; its dimensions are below
  kOwnWait = 64,   // in a rerun, the recorder got the error itself while it waited for an operation
  kThenWorked = 32,    // the same thread issued an operation successfully afterwards
  kAskedBefore = 128,  // the thread issued an operation successfully, and then queried the same error again
};

inline constexpr Field<std::uint64_t, 0> kSerial;  // 1-based number in the process; stored last, with release
inline constexpr Field<std::uint64_t, 8> kTicks;   // at EXIT of the call
inline constexpr Field<std::uint32_t, 16> kCode;   // CUresult, or cudaError_t if kDomain is runtime
inline constexpr Field<std::uint32_t, 20> kTid;
inline constexpr Field<std::uint8_t, 24> kDomain;  // Domain of the innermost failed call
inline constexpr Field<std::uint8_t, 25> kFlags;
inline constexpr Field<std::uint16_t, 26> kCallId;     // CUPTI callback id in kDomain
inline constexpr Field<std::uint32_t, 28> kCallName;   // intern id of a string: "cuMemcpyDtoH_v2"
inline constexpr Field<std::uint32_t, 32> kOuterName;  // intern id of a string: "cudaMemcpy"; 0 if called directly
inline constexpr Field<std::uint32_t, 36> kOuterCode;  // cudaError_t that the outer call returned
inline constexpr Field<std::uint32_t, 40> kSite;       // intern id of a site: stacks and kernel of the failed call
inline constexpr Field<std::uint32_t, 44> kStream;     // index in `streams` or operation::kNoStream
inline constexpr Field<std::uint32_t, 48> kContext;    // index in `contexts`; 0xffffffff if none was current
inline constexpr Field<std::uint32_t, 52> kGridX;
inline constexpr Field<std::uint32_t, 56> kGridY;
inline constexpr Field<std::uint32_t, 60> kGridZ;
inline constexpr Field<std::uint32_t, 64> kBlockX;
inline constexpr Field<std::uint32_t, 68> kBlockY;
inline constexpr Field<std::uint32_t, 72> kBlockZ;
inline constexpr Field<std::uint32_t, 76> kSharedBytes;
inline constexpr Field<std::uint64_t, 80> kBytes;      // size of the requested allocation or copy; otherwise 0
inline constexpr Field<std::uint64_t, 88> kOperation;  // serial of the thread's newest operation record
inline constexpr Field<std::uint32_t, 96> kThread;     // index in `threads`; 0xffffffff if none

// The capture to which a capture error refers: if known, the capture of the stream that was passed to the call.
// Otherwise, it is a capture that this thread began or, if there is none, one that another thread began. A capture is
// identified by its begin time and its thread.
inline constexpr Field<std::uint32_t, 100> kCaptureSite;   // site that began it (intern id); 0 if no capture is known
inline constexpr Field<std::uint64_t, 104> kCaptureBegan;  // ticks at ENTER of the call that began it; 0 if unknown
inline constexpr Field<std::uint32_t, 112> kCaptureTid;    // thread that began the capture
inline constexpr Field<std::uint32_t, 116> kCaptureMode;   // CUstreamCaptureMode

inline constexpr Field<std::uint64_t, 120> kStarted;      // ticks at ENTER of a failed driver call; 0 if unknown
inline constexpr Field<std::uint32_t, 128> kExplanation;  // intern id of a string: the driver's explanation; 0 if
                                                          // none
// The serial of an earlier call's record, if cudaGetLastError or cudaPeekAtLastError returned the error of that call
// after the thread had issued work. 0 if this call itself failed.
inline constexpr Field<std::uint32_t, 132> kOfCall;

// The device's free and total memory when an allocation failed for lack of memory. Both are 0 if the recorder did not
// query them.
inline constexpr Field<std::uint64_t, 136> kDeviceFree;
inline constexpr Field<std::uint64_t, 144> kDeviceTotal;
// For a launch (kLaunch) that failed for another reason: the most threads of a block and the most bytes of dynamic
// shared memory that the kernel allows. 0 if unknown.
inline constexpr Field<std::uint64_t, 136> kMostThreads;
inline constexpr Field<std::uint64_t, 144> kMostShared;

}  // namespace cudadiag::wire::error
