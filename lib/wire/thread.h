// A thread's entry: 128 bytes. Entry i owns ring i. A new thread reuses the entry of the thread that ended first, so
// that the records of ended threads stay readable as long as possible.
#pragma once

#include <cstdint>

#include "wire/bytes.h"

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
