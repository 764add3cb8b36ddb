// The host memory that the nodes of executable graphs use. It is known only while cudadiag looks for races. Graphs and
// nodes that do not fit are not watched. The class has one lock, which is held only briefly.
#pragma once

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "record/graphs/captured_memory.h"
#include "record/guest.h"
#include "record/memory/copy_sources.h"

namespace cudadiag::record {

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
    // Only in the sampled form (copy_sources.h). Some nodes may write to host memory or wait for the host, or may show
    // the host how far the graph has come.
    bool reaches_host = false, tells = false;
  };
  // Forgets what was known about an earlier graph with this handle.
  void made(CUgraphExec exec, const Traits& traits);
  void reaches_host(CUgraphExec exec);
  void add(CUgraphExec exec, const HostSource& source);
  // Gives the node a new source, and returns its entry. Returns an entry without node if the node is not known.
  HostSource set(CUgraphExec exec, CUgraphNode node, const SourceRows& rows, std::uint32_t site);
  void gone(CUgraphExec exec);
  void all_gone();

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
