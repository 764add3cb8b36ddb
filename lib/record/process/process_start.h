// Starts the recording of a process when it initialises CUDA.
#pragma once

#include <atomic>
#include <climits>
#include <cstdint>

#include "record/cupti/driver_api.h"
#include "record/output/interner.h"

namespace cudadiag::record {

// Records the properties of the process: command line, folder, host, rank and driver. session::ProcessRecord lists them
// all.
void describe_process(Interner& interner);

// Finds out whether CUDA_LAUNCH_BLOCKING may be in effect. The documentation does not say whether the driver reads the
// variable when it starts or when it creates a context. Therefore, the variable may have an effect if it is set at
// either time.
class LaunchBlocking {
 public:
  static constexpr const char* kVariable = "CUDA_LAUNCH_BLOCKING";

  void context_made();
  // Notes that the program has set the variable too late. Call this only at a failure: each call is a risk, because
  // another thread may change the environment during getenv().
  void note_if_set_late(Interner& interner) const;

 private:
  std::atomic<bool> may_block_ = false;
};

// A GPU core dump of this process, and the files that belong to it (wire/names/core_dump.h).
class CoreDump {
 public:
  // Makes the driver write the dump when a kernel fails, and on request. `folder` is the folder of the pass, or null.
  // `start` is area::kStartRealtime. Records a property, and returns the dump's path, which stays valid. If the driver
  // cannot write a dump, leaves a note and returns null.
  const char* arm(const DriverApi& driver, Interner& interner, const char* folder, std::uint64_t start);
  // Call this when the driver has written a dump, even more than once. Returns true if the dump was requested. Then
  // records a property, and tells whoever requested the dump that it is complete.
  bool take_request(Interner& interner);

 private:
  std::atomic<bool> was_requested_ = false;
  char file_[PATH_MAX], pipe_[PATH_MAX], request_[PATH_MAX];
};

}  // namespace cudadiag::record
