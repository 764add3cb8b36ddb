// Handles forks of a process that has used CUDA. In the child, the driver rejects every call with error 3.
//
// The parent records where it forks. The child cannot use the parent's recorder, because other threads may have held
// its locks. The first rejected call in the child creates a new recorder, which records only rejected calls.
#pragma once

#include <cupti.h>

#include <cstdint>

#include "wire/cuda_codes.h"

namespace cudadiag::record {

class Recorder;

namespace forks {

constexpr std::uint32_t kRefused = wire::cuda::kInitializationError;

struct Origin {
  const Recorder* parent = nullptr;
  std::uint32_t pid = 0;   // of the parent
  std::uint32_t site = 0;  // where the parent forked, in the parent's area; 0 if unknown
};

// Call this in the child, on its only thread. Reads `Origin::parent`, but never locks or changes it.
void begin_child(const Origin& origin);
// Handles a callback in a process without a recorder. Does nothing unless begin_child() has been called.
void see(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data, std::uintptr_t frame);

}  // namespace forks

}  // namespace cudadiag::record
