// The recorder's data about each thread: its ring in the area, its caches, and its current call.
//
// A ThreadState belongs to one thread at a time. When a thread has ended, a new thread takes over its state. The
// contents of the ring and the caches describe the process, so they stay valid. Everything that describes the old
// thread's stack and default streams becomes invalid.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "record/graphs/graph_markers.h"
#include "record/libc_substitutes.h"
#include "record/output/area_map.h"
#include "record/stacks/stack_shapes.h"
#include "record/stacks/unwinder.h"
#include "wire/operation.h"
#include "wire/tables.h"

namespace cudadiag::record {

// Caches the sites at which a thread issues operations. The key is a sum of values that are cheap to read: the
// kernel's handle, the Python stack's hash and the stack pointer. Two sites with the same key are distinguished by
// their native stacks. Only the thread itself accesses its cache.
struct SiteCache {
  static constexpr std::size_t kSets = 1024;
  static constexpr std::size_t kWays = 4;
  struct alignas(32) Entry {
    std::uint64_t key;         // 0 if free
    std::uint64_t addresses;   // sum of the native stack's return addresses, compared at each call; 0 if none
    std::uint32_t shape_key;   // lower half of the expected key of `shape`
    std::uint32_t armed_from;  // see Window::armed_from
    std::uint16_t shape;       // index of the shape that has the stack positions of these addresses
    std::uint16_t site;
    std::uint16_t function;  // 0 if unknown
    bool checks_its_data;    // see Interner::checks_its_data
    std::uint8_t opened;     // a library in the stack that the program may close (modules.h); 0 if none
  };
  std::array<Entry, kSets * kWays> entries;  // one set after another
  std::uint16_t replaced;                    // number of entries replaced so far

  // Returns an entry with this key for which `fits` returns true.
  template <typename Fits>
  const Entry* find(std::uint64_t key, Fits fits) const {
    const Entry* set = &entries[set_of(key)];
    for (const Entry* entry = set; entry != set + kWays; ++entry) {
      if (entry->key == key && fits(*entry)) [[likely]]
        return entry;
    }
    return nullptr;
  }
  const Entry& insert(const Entry& entry);

 private:
  // The bits in the middle of a sum of products depend on more bits of the factors than the others.
  static std::size_t set_of(std::uint64_t key) { return (key >> 26) % kSets * kWays; }
};

struct StreamCacheEntry {
  std::uint64_t handle;
  std::uint32_t context_uid;
  std::uint32_t generation;
  std::uint32_t stream;
};

// An operation between ENTER and EXIT of its call.
struct OpenOperation {
  std::byte* record;
  std::uint32_t site;
  std::uint32_t stream;
  std::uint32_t ordinal;  // 0 if none: captured, no stream, or a kind without ordinals
  std::uint8_t flags;
  bool mark;  // whether a marker must follow the operation
};

// The thread's state at the gate of ExclusiveWait.
enum class Turn : std::uint8_t { none, passing, alone };

// Aligned to two cache lines, because processors fetch lines in pairs: no pair may contain the states of two threads.
struct alignas(128) ThreadState {
  std::uint16_t index;
  std::uint8_t torch_thread;  // PyTorch's number for the thread; 0 if none yet
  bool on_own_stack;          // `stack` belongs to the thread itself, and exists as long as the thread
  std::uint32_t tid;
  std::byte* entry;  // see wire/tables.h
  std::byte* ring;
  std::uint64_t serial;      // of the newest record
  std::uint64_t operations;  // number of records whose kind has an ordinal

  OpenOperation open;
  StackRange stack;                // the stack on which the thread ran last
  StreamCacheEntry newest_stream;  // the stream looked up last
  std::uint64_t next_marker;       // earliest ticks for the next sparse marker
  std::byte* parameters;           // the thread's slots for the parameters of launches; null if it has none
  Turn turn;
  bool interrupts;  // the current call is in a signal handler, which interrupted the call in `interrupted`
  // The serials of this thread's failed calls that the recorder still tracks are in `recent`. The first `recent_worked`
  // of these calls were followed by an operation of the thread. The first `recent_looked` were followed by a query of
  // its last error.
  std::uint8_t recent_errors, recent_worked, recent_looked;
  // Every launch reads the members up to here, which fill two cache lines.
  bool waits;  // the current call may wait for the GPU, as reported to CopySources
  std::uint64_t
      watched;  // the number of the watch that lasts until the work of the current call has finished; 0 if none
  std::uint32_t call_site;  // of the current call, if CopySources knows it; otherwise 0
  // The graph call that the thread is making: the call's site, and whether nodes created during the call belong to the
  // program.
  std::uint32_t graph_site;
  bool adds_nodes;
  AddedMarkers markers;                  // the markers that this call has added to its graph
  std::array<std::uint64_t, 16> recent;  // oldest first

  // When a wait begins, these hold the ordinals of the latest operations. If the wait succeeds, those operations and
  // all earlier ones have finished.
  std::uint32_t waited_stream;
  std::uint32_t waited_ordinal;
  std::array<std::uint32_t, wire::area::kStreams> waited_streams;

  OpenOperation interrupted;
  Turn interrupted_turn;
  StackRange own_stack;  // set once the thread was seen on its own stack
  KnownStacks known_stacks;
  std::array<StreamCacheEntry, 256> streams;
  SiteCache sites;
  StackShapes shapes;
  std::array<char, 512> said;  // the driver's explanation of the current call (failures.h)
};

// Threads that belong to the driver: the one that runs host functions, and the one that handles events, which wakes up
// ten times a second. 0 if unknown.
struct DriverThreads {
  std::array<std::uint32_t, 2> ids{};  // functions, events

  bool any() const { return ids[0] != 0 || ids[1] != 0; }
  bool contain(long id) const { return id != 0 && (id == ids[0] || id == ids[1]); }
};

// Finds the driver's threads among those of the process. The thread that runs host functions has no name of its own.
// The driver creates it at the first host function, so it is the only new thread after that call. Measured with driver
// 580.
class DriverThreadSearch {
 public:
  static constexpr std::size_t kMost = 256;  // threads of the process

  // Call this before the first host function is queued.
  void begin();
  // Call this afterwards. Waits for at most two milliseconds, because the threads start at their own pace.
  DriverThreads found() const;

 private:
  static constexpr int kTries = 20;
  DriverThreads found_now() const;

  std::size_t count_ = 0;
  std::array<std::uint32_t, kMost> known_{};
};

// Finds out whether other threads of the process have run since an earlier time. A thread that has run either has been
// switched out since, or is still running, or has ended. CPU clocks would not show this: Linux adds up the time of a
// running thread only now and then.
class OtherThreads {
 public:
  // Threads in `except` do not count.
  void begin(const DriverThreads& except) {
    except_ = except;
    switches_ = switches(), threads_ = threads();
  }
  const DriverThreads& except() const { return except_; }
  // Also returns true if the answer is unknown.
  bool have_run() const;

 private:
  long switches() const;
  static unsigned long threads();
  bool all_wait() const;

  DriverThreads except_;
  unsigned long threads_ = 0;
  long switches_ = 0;  // of all threads but the calling one and the exceptions, together; negative if unknown
};

class Threads {
 public:
  void attach(AreaMap& area);
  // Returns the calling thread's state, or null if kThreads threads are alive already.
  ThreadState* acquire();
  void release(ThreadState& state);
  // Returns true if any other thread is in a driver call. `own` is the calling thread's state, or null if it has none.
  bool others_are_in_calls(const ThreadState* own);
  // Among the threads whose calls may wait for the GPU, returns the thread that entered its call last; null if there is
  // none.
  ThreadState* latest_in_wait();

 private:
  void take(ThreadState& state, std::size_t index);

  AreaMap* area_ = nullptr;
  Mutex mutex_;
  std::size_t used_ = 0;  // entries used so far
  // a ring buffer of the entries of ended threads, oldest first
  std::array<std::uint16_t, wire::area::kThreads> ended_;
  std::size_t ended_first_ = 0, ended_count_ = 0;
  std::array<ThreadState, wire::area::kThreads> states_;
};

// Returns true if the thread is between ENTER and EXIT of a driver call.
inline bool is_in_call(const ThreadState& thread) { return wire::load(thread.entry, wire::thread::kCallDomain) != 0; }

// Publishes the record that next_record() (streams.h) returned.
[[gnu::hot]] void publish(ThreadState& state, std::byte* record);

// Finds the mapped stack that contains this address, and makes it the thread's newest. Returns false if there is none.
bool change_stack(ThreadState& thread, std::uintptr_t stack_pointer);
// Call this when the stack has been freed or replaced.
void forget_stack(ThreadState& thread, std::uintptr_t stack_pointer);

}  // namespace cudadiag::record
