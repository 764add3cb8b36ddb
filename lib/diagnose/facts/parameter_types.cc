#include "diagnose/facts/parameter_types.h"

#include <cstddef>

namespace cudadiag::diagnose {

std::vector<std::string_view> parameter_types(std::string_view kernel) {
  std::vector<std::string_view> types;
  if (!kernel.ends_with(')')) return types;
  int depth = 0;
  std::size_t end = kernel.size() - 1, at = end;
  for (; at > 0; --at) {
    const char c = kernel[at - 1];
    if (c == ')' || c == '>' || c == ']') ++depth;
    if (depth == 0 && (c == ',' || c == '(')) {
      types.insert(types.begin(), kernel.substr(at, end - at));
      end = at - 1;
      if (c == '(') return types;
    }
    if (c == '(' || c == '<' || c == '[') --depth;
  }
  return {};
}

}  // namespace cudadiag::diagnose
