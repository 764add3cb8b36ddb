// Names of device functions as people write them.
#pragma once

#include <string>

namespace cudadiag::gpucore {

// `deep(int*, int)` for `_Z4deepPii`; the name itself where it is not mangled.
std::string demangle(const std::string& mangled);

}  // namespace cudadiag::gpucore
