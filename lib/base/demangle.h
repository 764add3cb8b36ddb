// Demangles C++ function names from object files.
#pragma once

#include <string>
#include <string_view>

namespace cudadiag::base {

// Returns `deep(int*, int)` for `_Z4deepPii`. Returns the name unchanged if it is not mangled, or if the result would
// be too long. The files that contain these names are not trusted.
std::string demangle(std::string_view mangled);

// Strips the suffixes that optimisers add: returns `_Z4fillPii` for `_Z4fillPii.cold`, `step` for `step.part.0`.
std::string_view without_clone_suffix(std::string_view symbol);

}  // namespace cudadiag::base
