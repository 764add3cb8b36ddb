// Reads the clock of the records: the cheapest counter that all cores share. The kClock… fields of area.h convert its
// ticks to nanoseconds.
#pragma once

#include <cstdint>
#include <ctime>

namespace cudadiag::wire {

inline std::uint64_t nanoseconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

inline std::uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t counter;
  asm volatile("mrs %0, cntvct_el0" : "=r"(counter));
  return counter;
#else
  return nanoseconds(CLOCK_MONOTONIC);
#endif
}

// Ticks and CLOCK_MONOTONIC, read together. All processes on one machine share both clocks.
struct ClockReading {
  std::uint64_t ticks = 0, nanoseconds = 0;
  static ClockReading now() { return {wire::ticks(), wire::nanoseconds(CLOCK_MONOTONIC)}; }
};

}  // namespace cudadiag::wire
