// Names of functions as people write them.
#pragma once

#include <string>
#include <string_view>

namespace cudadiag::evidence {

// `deep(int*, int)` for `_Z4deepPii`; the name itself where it is not mangled, or becomes too long: names come from
// files of others.
std::string demangle(std::string_view mangled);

}  // namespace cudadiag::evidence
