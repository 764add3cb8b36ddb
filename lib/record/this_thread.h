// The recorder's knowledge of the calling thread. Plain data only: a thread may come here when its other thread-local
// objects are already gone.
#pragma once

#include <cstdint>

namespace cudadiag::record {

struct ThreadState;

// On one line.
struct alignas(64) ThisThread {
  ThreadState* state;
  int* error_number;         // &errno, which is a call to ask for
  bool asked;                // whether `state` was acquired, or refused, and the above is known
  bool inside;               // our own calls into the driver, or a signal handler's on top of a callback: not recorded
  bool quiet;                // the Python hook's own calls into CUDA: not recorded either
  bool hooked;               // inside an operator that the Python hook took values of (python_hook.h)
  bool explained;            // by the driver: the present call (driver_log.h)
  bool withheld;             // the call that begins is not made: the program gets a success (followed_graphs.h)
  const char* runtime_call;  // the runtime call around the current driver call; null: none
  std::uint64_t runtime_error;    // serial of the error recorded inside that runtime call; 0: none
  std::uint64_t entered;          // ticks at ENTER of its call on memory, if it has no ring
  std::uint32_t looked_up;        // functions of the driver (runtimes.h)
  std::int32_t newest_looked_up;  // the newest version of these
  std::uint32_t fork_site;        // of the fork() in progress
};

extern constinit thread_local ThisThread t_this;

// False in a child of fork or clone, whose recorder is the parent's.
bool is_own_process();

}  // namespace cudadiag::record
