// The data that the recorder keeps for the calling thread. It must be plain data, because a thread may run recorder
// code after its other thread-local objects are destroyed.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace cudadiag::record {

struct ThreadState;

// Fits into a single cache line.
struct alignas(64) ThisThread {
  ThreadState* state;
  int* error_number;  // &errno; computing it needs a call
  CUcontext context;  // the latest current context that the hooks have seen, and its number
  std::uint32_t context_uid;
  bool asked;                      // whether `state` was requested (it may still be null), and `error_number` is set
  bool inside;                     // inside the recorder; driver calls made meanwhile are not recorded
  bool quiet;                      // in the Python hook's own CUDA calls, which are not recorded either
  bool passing;                    // meanwhile, no operation of another thread may begin to run alone
  bool hooked;                     // in an operator that the Python hook called (hook_loader.h)
  bool explained;                  // the driver has explained the current call (failures.h)
  bool withheld;                   // the call is not passed to the driver, and returns success (node_saver.h)
  std::uint8_t looked_up;          // number of driver functions looked up (runtimes.h), at most 255
  std::uint16_t newest_looked_up;  // the newest version that was looked up
  std::uint16_t fork_site;         // call site of the fork() in progress
  const char* runtime_call;        // the runtime call around the current driver call; null if none
  std::uint64_t runtime_error;     // serial of the error recorded inside that runtime call; 0 if none
  std::uint64_t entered;           // ticks at ENTER of the thread's current memory call, if the thread has no ring

  // Returns true if a driver call of this thread is recorded as usual. Without a branch for each flag.
  bool is_ready() const { return (asked & !(inside | quiet)) != 0; }
};
static_assert(sizeof(ThisThread) == 64);

extern constinit thread_local ThisThread t_this;

// Returns t_this. The compiler then keeps the address, because each access to t_this may be a function call.
inline ThisThread& this_thread() {
  ThisThread* found = &t_this;
  asm("" : "+r"(found));
  return *found;
}

// Returns false in a child of fork or clone, where the recorder belongs to the parent.
bool is_own_process();

}  // namespace cudadiag::record
