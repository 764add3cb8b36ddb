// Processes that initialised CUDA and could not be recorded, as far as their recorders could leave that somewhere.
#pragma once

#include <cstddef>
#include <filesystem>

#include "session/session.h"
#include "wire/unrecorded.h"

namespace cudadiag::session {

struct Unrecorded {
  std::size_t processes = 0;
  wire::unrecorded::What what = wire::unrecorded::What::nothing;  // of one of them
  int error = 0;                                                  // errno, likewise
};

// Those that left it in the folder of a pass.
Unrecorded unrecorded_in(const std::filesystem::path& pass_folder);

// "nothing was recorded of …", and what to do about it.
Failure nothing_recorded_of(const Unrecorded& unrecorded);

}  // namespace cudadiag::session
