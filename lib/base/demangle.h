// Names of functions as people write them.
#pragma once

#include <string>
#include <string_view>

namespace cudadiag::base {

// `deep(int*, int)` for `_Z4deepPii`; the name itself where it is not mangled, or becomes too long: the files with
// these names are not trusted.
std::string demangle(std::string_view mangled);

// The name without the suffixes of optimisers: `_Z4fillPii` for `_Z4fillPii.cold`, `step` for `step.part.0`.
std::string_view without_clone_suffix(std::string_view symbol);

}  // namespace cudadiag::base
