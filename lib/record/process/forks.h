// Forks of a process that has used CUDA: the driver refuses every call of the child with code 3.
//
// The parent notes where it forks. The child cannot use the parent's recorder, because other threads may have held its
// locks. The first call that is refused there makes a recorder of the child's own, which records refused calls alone.
#pragma once

#include <cupti.h>

#include <cstdint>

namespace cudadiag::record {

class Recorder;

namespace forks {

// CUDA_ERROR_NOT_INITIALIZED, cudaErrorInitializationError.
constexpr std::uint32_t kRefused = 3;

struct Origin {
  const Recorder* parent = nullptr;
  std::uint32_t pid = 0;   // the parent's
  std::uint32_t site = 0;  // where it forked, in its own area; 0: not known
};

// In the child, on the only thread that it has. `Origin::parent` is read, never locked or changed.
void begin_child(const Origin& origin);
// A callback in a process without a recorder. Does nothing outside of such a child.
void see(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data, std::uintptr_t frame);

}  // namespace forks

}  // namespace cudadiag::record
