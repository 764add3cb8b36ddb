// Kernel names as a line of a report can hold them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cudadiag::diagnose {

// `demangled` without return type and parameters; where that is longer than `columns`, also without namespaces,
// then with its template arguments folded to `<...>`, at last cut.
std::string short_kernel_name(std::string_view demangled, std::size_t columns);

// Without return type, namespaces, template arguments and parameters: "scale".
std::string bare_kernel_name(std::string_view demangled);

}  // namespace cudadiag::diagnose
