// Whether CUDA_LAUNCH_BLOCKING may be in effect. Nobody documents whether the driver reads it when it starts or when it
// makes a context. A value present at that moment may count.
#pragma once

#include <atomic>

#include "record/output/interner.h"

namespace cudadiag::record {

class LaunchBlocking {
 public:
  static constexpr const char* kVariable = "CUDA_LAUNCH_BLOCKING";

  void context_made();
  // Called at the failure, not before: a program that sets the variable late has done so by then. Another thread may
  // change the environment during getenv(), so this is the only call.
  void note_if_set_late(Interner& interner) const;

 private:
  std::atomic<bool> may_block_ = false;
};

}  // namespace cudadiag::record
