#include "record/process/launch_blocking.h"

#include <stdlib.h>
#include <string.h>

namespace cudadiag::record {

namespace {

// Returns the variable's value. Returns null if the variable has no effect, because it is unset, empty or "0".
const char* value_in_effect() {
  const char* value = getenv(LaunchBlocking::kVariable);
  return value == nullptr || *value == '\0' || strcmp(value, "0") == 0 ? nullptr : value;
}

}  // namespace

void LaunchBlocking::context_made() {
  if (value_in_effect() != nullptr) may_block_ = true;
}

void LaunchBlocking::note_if_set_late(Interner& interner) const {
  const char* value = may_block_ ? nullptr : value_in_effect();
  if (value != nullptr) interner.property("late.CUDA_LAUNCH_BLOCKING", value);
}

}  // namespace cudadiag::record
