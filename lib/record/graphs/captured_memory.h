// The program's own memory whose address a node of a graph got, and whether this memory still exists. Each replay uses
// the memory again. It is known only while cudadiag looks for races.
//
// A variable has ended if its function has returned. The function's return address lies on the stack, and does not
// change before the function returns. The variable has therefore ended if another word is there now, or if its thread or
// stack no longer exists. A new call of the same function from the same place looks like the old call, so nothing is concluded
// then. After a call from elsewhere, a new variable may be at the old one's place, so the answer is inferred.
//
// Blocks on the heap are not followed. To see free(), the recorder would have to change addresses in the program's
// modules. Programs compare and replace such addresses, and then abort or behave differently.
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
  End end_of(Number number);
  void thread_ended(const ThreadState& thread);

 private:
  struct Entry {
    std::atomic<Number> number;  // 0 while the entry changes
    std::uint64_t address;
    std::uint32_t site;
    std::uint32_t thread;       // index of the thread on whose stack it is
    std::uint64_t slot, value;  // the return address of the variable's function, and where it is stored
    std::uint32_t frame;
    std::uint64_t below;
    std::atomic<wire::race::Ended> how;
  };

  static bool find_frame(std::uint64_t address, std::uintptr_t frame, Entry& entry);

  Mutex mutex_;
  Number newest_ = 0;
  std::array<Entry, kMost> entries_{};
};

}  // namespace cudadiag::record
