// Finds processes that initialised CUDA but could not be recorded. Each of their recorders left a mark.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "session/session.h"
#include "session/session_folders.h"
#include "wire/names/unrecorded.h"

namespace cudadiag::session {

struct Unrecorded {
  std::size_t processes = 0;
  wire::unrecorded::What what = wire::unrecorded::What::nothing;  // reason for one of them
  int error = 0;                                                  // errno of the same process
};

// Counts the processes that left a mark in a pass folder.
Unrecorded unrecorded_in(const std::filesystem::path& pass_folder);

// Returns an error such as "nothing was recorded for …", with a hint.
base::Error nothing_recorded_of(const Unrecorded& unrecorded);

// Returns why no program can record to the session.
std::optional<std::string> obstacle_to_recording(const std::filesystem::path& session);

// Returns why a session that `cudadiag env` prepared is empty. Considers only the current state: the original reason
// may be gone.
std::string why_unused(const std::filesystem::path& session);

// Returns the newest session in these roots that `cudadiag env` prepared and that no program has recorded to.
std::optional<std::filesystem::path> newest_unused(const std::vector<Root>& roots);

}  // namespace cudadiag::session
