// A thread's entry: 128 bytes. Entry i owns ring i. When a thread ends, its entry waits to be taken over
// by a later thread, oldest first, so that a dead thread's records stay readable as long as may be.
#pragma once

#include <cstdint>

#include "wire/bytes.h"

namespace cudadiag::wire::thread {

enum class State : std::uint32_t { free = 0, live = 1, ended = 2 };

inline constexpr Field<std::uint32_t, 0> kState;
inline constexpr Field<std::uint32_t, 4> kTid;        // gettid()
inline constexpr Field<std::uint64_t, 8> kPublished;  // serial of the newest record; release
// The call that the thread is inside, for a look at a live or killed process; all zero outside of calls.
inline constexpr Field<std::uint32_t, 16> kCallDomain;  // error.h's Domain
inline constexpr Field<std::uint32_t, 20> kCallId;      // CUPTI callback id
inline constexpr Field<std::uint64_t, 24> kCallTicks;
inline constexpr std::size_t kNameOffset = 32;  // 16 bytes, as in /proc/PID/task/TID/comm
inline constexpr std::size_t kNameSize = 16;
inline constexpr Field<std::uint64_t, 48> kOperations;  // records of kinds that have an ordinal, ever published

// The object that a call waits for, so that a stuck process can be read from outside. All but kCallSite are valid only
// if that is not 0. A call that issues an operation has its stacks in that operation's record too.
enum class Wait : std::uint32_t {
  none = 0,     // it may block, for whatever reason
  stream = 1,   // returns when kCallStream has finished what it had been given
  event = 2,    // when the CUevent in kCallEvent has completed
  context = 3,  // when all streams of kCallContext have finished
};
inline constexpr Field<std::uint32_t, 56> kCallSite;    // intern id; stored last; 0: the call is not one that may block
inline constexpr Field<std::uint32_t, 60> kCallWait;    // Wait
inline constexpr Field<std::uint32_t, 64> kCallStream;  // index in `streams`, or operation::kNoStream
inline constexpr Field<std::uint32_t, 68> kCallContext;  // index in `contexts`; 0xffffffff: none
inline constexpr Field<std::uint64_t, 72> kCallEvent;
inline constexpr Field<std::uint32_t, 80> kCallName;   // intern id of a string: "cuStreamSynchronize"
inline constexpr Field<std::uint32_t, 84> kCallOuter;  // intern id of a string: "cudaStreamSynchronize"; 0: none
// Of a thread that runs Python, once the layout of its frames is proven: the address of its PyThreadState; else 0.
inline constexpr Field<std::uint64_t, 88> kPythonState;

}  // namespace cudadiag::wire::thread
