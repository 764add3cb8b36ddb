// Shortens kernel names to fit into a line of a report.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cudadiag::diagnose {

// Returns `demangled` without return type and parameters. If the result is longer than `columns`, drops the namespaces,
// then folds the template arguments to `<...>`, and finally cuts the name.
std::string short_kernel_name(std::string_view demangled, std::size_t columns);

// Returns the name without return type, namespaces, template arguments and parameters, such as "scale".
std::string bare_kernel_name(std::string_view demangled);

}  // namespace cudadiag::diagnose
