// Finds out whether CUDA_LAUNCH_BLOCKING may be in effect. The documentation does not say whether the driver reads the
// variable when it starts or when it creates a context. Therefore, the variable may have an effect if it is set at
// either time.
#pragma once

#include <atomic>

#include "record/output/interner.h"

namespace cudadiag::record {

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

}  // namespace cudadiag::record
