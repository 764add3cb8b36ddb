// The look at process exit: a fault that no call of the program has asked about is in nobody's return code.

#include <time.h>

#include "record/clock.h"
#include "record/recorder.h"

namespace cudadiag::record {

namespace area = wire::area;

void Recorder::look_at_exit() {
  constexpr std::uint64_t kPatience = 500'000'000;  // ns
  const std::uint64_t deadline = nanoseconds(CLOCK_MONOTONIC) + kPatience;
  const bool can_look = driver_.ctx_push_current != nullptr && driver_.ctx_pop_current != nullptr &&
                        driver_.stream_query != nullptr && !streams_.capture_going_on();
  if (can_look && !failures_.frozen()) {
    streams_.each_unfinished([&](CUcontext context, CUstream stream, std::uint32_t flags, std::uint32_t index) {
      // Another thread's default stream cannot be named from here.
      if ((flags & wire::stream::kPerThread) != 0 || failures_.frozen()) return;
      if (driver_.ctx_push_current(context) != CUDA_SUCCESS) return;
      CUresult result;
      while ((result = driver_.stream_query(stream)) == CUDA_ERROR_NOT_READY &&
             nanoseconds(CLOCK_MONOTONIC) < deadline) {
        const timespec pause = {0, 200'000};
        nanosleep(&pause, nullptr);
      }
      CUcontext popped = nullptr;
      driver_.ctx_pop_current(&popped);
      if (!is_sticky(static_cast<std::uint32_t>(result))) return;
      const std::uint32_t at =
          wire::load(area_.region(area::Region::streams) + index * area::kStreamSize, wire::stream::kContext);
      failures_.add(nullptr, {wire::error::Domain::driver, 0, "cuStreamQuery", static_cast<std::uint32_t>(result), 0,
                              index, at, nullptr, false, true, false});
    });
  }
  if (failures_.frozen()) return;
  area_.calibrate();
  area_.set_state(area::State::finished);
}

}  // namespace cudadiag::record
