// The host memory that the nodes of executable graphs use. It is known only while cudadiag looks for races. Graphs and
// nodes that do not fit are not watched. The class has one lock, which is held only briefly.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "record/libc_substitutes.h"
#include "record/memory/copy_sources.h"
#include "record/operations/threads.h"
#include "wire/race_record.h"

namespace cudadiag::record {

// The program's own memory whose address a node of a graph got, and whether this memory still exists. Each replay uses
// the memory again. It is known only while cudadiag looks for races.
//
// A variable has ended if its function has returned. The function's return address lies on the stack, and does not
// change before the function returns. The variable has therefore ended if another word is there now, or if its thread
// or stack no longer exists. A new call of the same function from the same place looks like the old call, so nothing is
// concluded then. After a call from elsewhere, a new variable may be at the old one's place, so the answer is inferred.
//
// Blocks on the heap are not followed. To see free(), the recorder would have to change addresses in the program's
// modules. Programs compare and replace such addresses, and then abort or behave differently.
//
// The newest kMost addresses are known. The class takes a lock only to add an address.
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

// A copy node that reads host memory.
struct HostSource {
  CUgraphNode node = nullptr;
  std::uint32_t index = 0, type = 0;  // as in the node's record (wire/race_record.h)
  SourceRows rows;                    // no bytes: the node now reads other memory
  std::uint32_t site = 0;
};

// The program's own memory that a node uses: a side of a copy, the target of a memset, or a host function's argument.
struct HostUse {
  CUgraphNode node = nullptr;
  std::uint32_t index = 0, type = 0, site = 0;
  bool is_source = false;
  std::uint64_t address = 0;
  CapturedMemory::Number memory = 0;
};

class GraphHostMemory {
 public:
  static constexpr std::size_t kMostSources = 64, kMostUses = 64;

  struct Traits {
    bool runs_host_functions = false;
    // Only in the sampled form (copy_sources.h). Some nodes may write to host memory or wait for the host, or record
    // events or wait for them.
    bool reaches_host = false, uses_events = false;
  };
  // Forgets what was known about an earlier graph with this handle.
  void made(CUgraphExec exec, const Traits& traits);
  void reaches_host(CUgraphExec exec);
  void add(CUgraphExec exec, const HostSource& source);
  // Gives the node a new source, and returns its entry. Returns an entry without node if the node is not known.
  HostSource set(CUgraphExec exec, CUgraphNode node, const SourceRows& rows, std::uint32_t site);
  void gone(CUgraphExec exec);

  void add_use(CUgraphExec exec, const HostUse& use);
  void forget_uses(CUgraphExec exec, CUgraphNode node);
  // Removes the uses for which `ended` returns true. The sources of their nodes are no longer watched.
  template <typename Ended>
  void remove_ended(CUgraphExec exec, Ended ended) {
    const LockGuard lock(mutex_);
    Exec* known = find(exec);
    if (known == nullptr) return;
    for (std::uint32_t i = 0; i < known->uses_count; ++i) {
      HostUse& use = known->uses[i];
      if (use.memory == 0 || !ended(use)) continue;
      use.memory = 0;
      for (HostSource& source : known->sources) {
        if (source.node == use.node) source.rows.width = 0;
      }
    }
  }

  struct Launched {
    std::array<SourceRows, kMostSources> rows;
    std::array<std::uint32_t, kMostSources> sites, nodes;
    std::size_t count = 0;
    bool known = false;
    Traits traits{};
  };
  void launched(CUgraphExec exec, Launched& to);

 private:
  struct Exec {
    CUgraphExec handle;  // null if free
    Traits traits;
    std::uint32_t count, uses_count;
    std::array<HostSource, kMostSources> sources;
    std::array<HostUse, kMostUses> uses;
  };
  static constexpr std::size_t kExecs = 1024;

  // A newer graph replaces an older one whose handle has the same hash. Callers hold the lock.
  Exec& place(CUgraphExec exec);
  Exec* find(CUgraphExec exec);

  Mutex mutex_;
  std::array<Exec, kExecs> execs_{};
};

}  // namespace cudadiag::record
