// Traces that a run left outside itself, as far as they can be seen without hindering it. They prove that a rerun is
// harmless if reruns cannot be isolated: each trace forbids it, and only the lack of all permits it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "launch/changed_files.h"
#include "launch/process.h"

namespace cudadiag::launch {

class RunTraces {
 public:
  // Before the target starts in `folder`.
  explicit RunTraces(const std::filesystem::path& folder);

  // While it runs, every so often and when it fails: its sockets.
  void look(const Target& target);
  // Right after its end, before this process writes more: waits up to 10 seconds for what it has started.
  void finish(Target& target, SignalRelay& relay);

  const FolderBefore& folder() const { return folder_; }
  // A process of it that did not end; 0: none.
  pid_t left() const { return left_; }
  // "it listened on a port", "it was connected to 10.0.0.7:5432"; empty: nothing of the kind was seen.
  const std::string& network() const { return network_; }
  // It wrote to a disk, wherever.
  bool wrote() const { return wrote_; }

 private:
  FolderBefore folder_;
  std::uint64_t connections_;  // that this machine had opened and taken
  std::int64_t written_;       // by the processes that this one has reaped
  pid_t left_ = 0;
  std::string network_;
  bool wrote_ = false;
};

}  // namespace cudadiag::launch
