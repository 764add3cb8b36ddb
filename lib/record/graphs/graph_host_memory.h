// The host memory that the nodes of executable graphs use. It is known only while cudadiag looks for races. Graphs and
// nodes that do not fit are not watched. The class has one lock, which is held only briefly.
#pragma once

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "record/guest.h"
#include "record/memory/copy_sources.h"

namespace cudadiag::record {

// A copy node that reads host memory.
struct HostSource {
  CUgraphNode node = nullptr;
  std::uint32_t index = 0, type = 0;  // as in the node's record (wire/race_record.h)
  SourceRows rows;                    // no bytes: the node now reads other memory
};

class GraphHostMemory {
 public:
  static constexpr std::size_t kMostSources = 64;

  // Forgets what was known about an earlier graph with this handle.
  void made(CUgraphExec exec, bool runs_host_functions);
  void add(CUgraphExec exec, const HostSource& source);
  // Gives the node a new source, and returns its entry. Returns an entry without node if the node is not known.
  HostSource set(CUgraphExec exec, CUgraphNode node, const SourceRows& rows);
  void gone(CUgraphExec exec);

  struct Launched {
    std::array<SourceRows, kMostSources> rows;
    std::size_t count = 0;
    bool runs_host_functions = false;
  };
  void launched(CUgraphExec exec, Launched& to);

 private:
  struct Exec {
    CUgraphExec handle;  // null if free
    bool runs_host_functions;
    std::uint32_t count;
    std::array<HostSource, kMostSources> sources;
  };
  static constexpr std::size_t kExecs = 1024;

  // A newer graph replaces an older one whose handle has the same hash. Callers hold the lock.
  Exec& place(CUgraphExec exec);
  Exec* find(CUgraphExec exec);

  Mutex mutex_;
  std::array<Exec, kExecs> execs_{};
};

}  // namespace cudadiag::record
