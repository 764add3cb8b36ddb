// Takes the names of kernels apart: shorter names that fit into a line of a report, and the types of the parameters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace cudadiag::diagnose {

// Sets the names of a kernel. `to` is a Launch or a ResolvedAccess (report_model.h).
template <typename Named>
void name_kernel(Named& to, const std::string& mangled) {
  to.mangled = mangled;
  to.kernel = base::demangle(mangled);
}

// Returns `demangled` without return type and parameters. If the result is longer than `columns`, drops the namespaces,
// then folds the template arguments to `<...>`, and finally cuts the name.
std::string short_kernel_name(std::string_view demangled, std::size_t columns);

// Returns the name without return type, namespaces, template arguments and parameters, such as "scale".
std::string bare_kernel_name(std::string_view demangled);

// Returns the parameter types in order, as views into `kernel`. Empty if the kernel has no parameters, or if its name
// does not list them.
std::vector<std::string_view> parameter_types(std::string_view kernel);

}  // namespace cudadiag::diagnose
