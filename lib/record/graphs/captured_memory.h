// The program's own memory whose address a node of a graph got, and whether this memory still exists. Each replay uses
// the memory again. It is known only while cudadiag looks for races.
//
// A variable has ended if its function has returned. The function's return address lies on the stack, and does not
// change before the function returns. The variable has therefore ended if another word is there now, if the stack
// pointer of its thread is above it, or if its thread or stack no longer exists. A new call of the same function from
// the same place looks like the old call, so nothing is concluded then.
//
// A block on the heap has ended once free() or realloc() gets its address. From the first such block on, calls of these
// functions from all modules but libc go through the recorder (redirection.h). A program that captures no such address
// keeps its calls. Two other ways were rejected: a preloaded free() would slow down every program, and reading the
// allocator's own data would work for only one allocator. An address inside a block is not followed.
//
// The newest kMost addresses are known. The class takes a lock only to add an address.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "record/guest.h"
#include "record/operations/threads.h"
#include "wire/race_record.h"

namespace cudadiag::record {

class CapturedMemory {
 public:
  static constexpr std::size_t kMost = 1024;
  // A number of an entry that no later entry gets; 0 if none.
  using Number = std::uint64_t;

  // Call this at ENTER of the call that gives the address to a node. `address` must be readable, and not CUDA's.
  // `frame` is the frame address of the recorder's callback.
  void met(ThreadState& thread, std::uint64_t address, std::uint32_t site, std::uintptr_t frame);
  // Finds the newest entry with this address and site.
  Number find(std::uint64_t address, std::uint32_t site) const;

  struct End {
    wire::race::Ended how = wire::race::Ended::no;
    std::uint32_t frame = 0;  // see wire/race_record.h
    std::uint64_t below = 0;
  };
  // `thread` is the calling thread, and `frame` the frame address of the recorder's callback.
  End end_of(Number number, const ThreadState& thread, std::uintptr_t frame);
  void thread_ended(const ThreadState& thread);

 private:
  struct Entry {
    std::atomic<Number> number;  // 0 while the entry changes
    std::uint64_t address;
    std::uint32_t site;
    std::uint32_t thread;       // index of the thread on whose stack it is
    std::uint64_t slot, value;  // the return address of the variable's function, and where it is stored; 0 on the heap
    std::uint32_t frame;
    std::uint64_t below;
    std::atomic<wire::race::Ended> how;
  };

  static void freed(std::uint64_t block);
  static void on_free(void* block);
  static void* on_realloc(void* block, std::size_t bytes);
  static bool find_frame(std::uint64_t address, std::uintptr_t frame, Entry& entry);
  void watch_heap();

  Mutex mutex_;
  Number newest_ = 0;
  bool watches_heap_ = false;
  std::array<Entry, kMost> entries_{};
};

}  // namespace cudadiag::record
