// Reads this process's environment variables.
#pragma once

#include <cstdlib>
#include <string>

namespace cudadiag::base {

// Returns the variable's value, or "" if it is not set.
inline std::string environment_value(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace cudadiag::base
