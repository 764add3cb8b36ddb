// Finds out whether CUDA_LAUNCH_BLOCKING may be in effect. The documentation does not say whether the driver reads the
// variable when it starts or when it creates a context. A value at either time may therefore count.
#pragma once

#include <atomic>

#include "record/output/interner.h"

namespace cudadiag::record {

class LaunchBlocking {
 public:
  static constexpr const char* kVariable = "CUDA_LAUNCH_BLOCKING";

  void context_made();
  // Call this only at the failure, when a program that sets the variable too late has done so. Every call is a risk,
  // because another thread may change the environment during getenv().
  void note_if_set_late(Interner& interner) const;

 private:
  std::atomic<bool> may_block_ = false;
};

}  // namespace cudadiag::record
