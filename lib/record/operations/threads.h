// The recorder's state of each thread: its ring in the area, its caches, and the call that it is inside.
//
// A ThreadState belongs to one thread at a time. When the thread ends, its state is given back for the next thread,
// with the contents of the ring and the caches. These stay valid, because they refer to the process; the thread's own
// stack and default streams end with it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "record/graphs/graph_markers.h"
#include "record/lock.h"
#include "record/output/area_map.h"
#include "record/stacks/site_cache.h"
#include "record/stacks/stack_shapes.h"
#include "record/stacks/thread_stacks.h"
#include "wire/operation.h"
#include "wire/thread.h"

namespace cudadiag::record {

struct StreamCacheEntry {
  std::uint64_t handle;
  std::uint32_t context_uid;
  std::uint32_t generation;
  std::uint32_t stream;
};

// An operation between ENTER and EXIT of its call.
struct OpenOperation {
  std::byte* record;  // null: none
  std::uint32_t site;
  std::uint32_t stream;
  std::uint32_t ordinal;  // 0: none (captured, no stream, or not an operation that has one)
  std::uint8_t flags;
  bool mark;  // a marker is due after it
};

// The thread's position at the gate of ExclusiveWait.
enum class Turn : std::uint8_t { none, passing, alone };

// On lines of its own, and not beside another thread's: processors fetch lines in pairs.
struct alignas(128) ThreadState {
  std::uint16_t index;
  std::uint8_t torch_thread;  // PyTorch's number of the thread; 0: none yet
  bool on_own_stack;          // `stack` is the thread's own, and lasts as long
  std::uint32_t tid;
  std::byte* entry;  // wire/thread.h
  std::byte* ring;
  std::uint64_t serial;      // of the newest record
  std::uint64_t operations;  // records of kinds that have an ordinal

  OpenOperation open;
  StackRange stack;                // on which it was last
  StreamCacheEntry newest_stream;  // that was looked up
  std::uint64_t next_marker;       // ticks before which a sparse marker would take too much time
  Turn turn;
  bool waits;       // the present call may wait for the GPU, as CopySources was told
  bool interrupts;  // the present call came inside `interrupted`, in a signal handler
  // A call on graphs that the thread is inside: its own site, and whether the nodes made in it are the program's.
  std::uint32_t graph_site;
  bool adds_nodes;
  AddedMarkers markers;  // put in for the length of the call
  // The latest failed calls of this thread that are still followed: serials of their records. The first `recent_worked`
  // of them were followed by an operation that worked, the first `recent_looked` were asked for.
  std::uint32_t recent_errors, recent_worked, recent_looked;
  std::array<std::uint64_t, 16> recent;

  // Issued ordinals at ENTER of a call that waits: what its success proves finished.
  std::uint32_t waited_stream;
  std::uint32_t waited_ordinal;
  std::array<std::uint32_t, wire::area::kStreams> waited_streams;

  OpenOperation interrupted;
  Turn interrupted_turn;
  StackRange own_stack;  // once it was met on it
  KnownStacks known_stacks;
  std::array<StreamCacheEntry, 256> streams;
  SiteCache sites;
  StackShapes shapes;
  std::array<char, 512> said;  // by the driver, about the present call (driver_log.h)
};

class Threads {
 public:
  void attach(AreaMap& area);
  // The calling thread's state; null when kThreads threads are live already.
  ThreadState* acquire();
  void release(ThreadState& state);
  // Whether a thread other than that of `own` (null: one without a state) is inside a call into the driver.
  bool others_are_in_calls(const ThreadState* own);
  // The thread that was the last to enter a call in which it may wait for the GPU, and is in it; null: there is none.
  ThreadState* latest_in_wait();

 private:
  void take(ThreadState& state, std::size_t index);

  AreaMap* area_ = nullptr;
  Mutex mutex_;
  std::size_t used_ = 0;                                   // entries ever used
  std::array<std::uint16_t, wire::area::kThreads> ended_;  // oldest first, a ring buffer
  std::size_t ended_first_ = 0, ended_count_ = 0;
  std::array<ThreadState, wire::area::kThreads> states_;
};

// Between ENTER and EXIT of a call into the driver.
inline bool is_in_call(const ThreadState& thread) { return wire::load(thread.entry, wire::thread::kCallDomain) != 0; }

// The slot for the thread's next record, its serial cleared; its old record is held if that operation is not finished.
// Publish it with `publish`.
class Streams;
[[gnu::hot]] std::byte* next_record(ThreadState& state, Streams& streams);
[[gnu::hot]] void publish(ThreadState& state, std::byte* record);

}  // namespace cudadiag::record
