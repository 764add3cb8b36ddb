// Whether CUDA_LAUNCH_BLOCKING can be in effect. Whether the driver reads it when it starts or with a context is not
// documented, so what a context finds may count.
#pragma once

#include <atomic>

#include "record/output/interner.h"

namespace cudadiag::record {

class LaunchBlocking {
 public:
  static constexpr const char* kVariable = "CUDA_LAUNCH_BLOCKING";

  void context_made();
  // At the failure, not before: a program that sets it late has done so by then. The environment may change under
  // getenv() in another thread, so it is asked this once.
  void note_if_set_late(Interner& interner) const;

 private:
  std::atomic<bool> may_block_ = false;
};

}  // namespace cudadiag::record
