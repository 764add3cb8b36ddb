// The types that the demangled name of a C++ kernel ends with.
#pragma once

#include <string_view>
#include <vector>

namespace cudadiag::diagnose {

// Views of `kernel`, in order; empty if it has no parameters, or a name that does not list them.
std::vector<std::string_view> parameter_types(std::string_view kernel);

}  // namespace cudadiag::diagnose
