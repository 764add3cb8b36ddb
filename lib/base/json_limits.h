// Checks untrusted JSON text before it is parsed. A parsed value takes far more memory than its text, and code that
// visits the value may recurse once per level.
#pragma once

#include <cstddef>
#include <string_view>

namespace cudadiag::base {

struct JsonLimits {
  int depth;          // levels of nested objects and arrays
  std::size_t parts;  // keys, values, and the two ends of each object and array
};

// Returns whether the text is one JSON value within the limits. Takes linear time, and memory proportional to the
// depth.
bool is_json_within(std::string_view text, const JsonLimits& limits);

}  // namespace cudadiag::base
