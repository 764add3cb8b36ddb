// A thread's entry: 64 bytes. Entry i owns ring i. When a thread ends, its entry waits to be taken over
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

}  // namespace cudadiag::wire::thread
