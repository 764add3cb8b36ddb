// Which CUDA runtimes the process has, as far as launches go. One before 13.0 refuses some by itself (a block of too
// many threads: 9), and only a callback of its own tells of that. A later one hands every launch to the driver, whose
// callback tells as much; the runtime's, which would cost half as much again, is then left out. Measured with 12.8 and
// 13.0.
//
// A process may have several, one in each of its libraries, and they come at any time. A runtime looks up what it needs
// of the driver, more than 400 functions, and calls cuInit after that: the newest version that it asks for is its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace cudadiag::record {

class Runtimes {
 public:
  // Inside the first cuInit, whose caller has looked everything up before anybody could see it. Known to hand launches
  // on if it is a libcudart.so.13 or later; otherwise a runtime may be linked into whoever calls.
  void meet_first();
  // All that have been met hand on all launches, as far as is known.
  bool hand_launches_on() const { return hand_launches_on_.load(std::memory_order_relaxed); }

  // By the calling thread: cuGetProcAddress, and cuInit, whose caller may be a runtime.
  static void looked_up(std::string_view function, int version);
  void initialised();
  // A driver call failed. True: it gets what a launch needs, the kernel or its context; without that runtimes refuse it
  // themselves.
  bool failed(std::string_view driver_call);

  // The launches that are left out: those that are many.
  static bool is_left_out(std::uint32_t runtime_call);
  // The name of such a launch if the calling thread's call into the driver comes from one; else null. Walks the stack.
  static const char* launch_around();

 private:
  std::atomic<bool> hand_launches_on_ = false;
};

}  // namespace cudadiag::record
