// Time as the recorder stamps it: the cheapest counter that all cores share. area.h's kClock… fields calibrate it.
#pragma once

#include <time.h>

#include <cstdint>

namespace cudadiag::record {

inline std::uint64_t nanoseconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

inline std::uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return nanoseconds(CLOCK_MONOTONIC);
#endif
}

}  // namespace cudadiag::record
