// Reads the parameter types at the end of a C++ kernel's demangled name.
#pragma once

#include <string_view>
#include <vector>

namespace cudadiag::diagnose {

// Returns the parameter types in order, as views into `kernel`. Empty if the kernel has no parameters, or if its name
// does not list them.
std::vector<std::string_view> parameter_types(std::string_view kernel);

}  // namespace cudadiag::diagnose
