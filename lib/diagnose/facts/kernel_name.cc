#include "diagnose/facts/kernel_name.h"

#include <algorithm>

#include "base/text.h"

namespace cudadiag::diagnose {
namespace {

constexpr std::string_view kAnonymous = "(anonymous namespace)::";

// Offsets of the parts of a demangled name. `->` and `operator<` do not occur in kernel names, so split() ignores them.
struct Parts {
  std::size_t begin = 0;      // end of the return type
  std::size_t base = 0;       // end of the namespaces
  std::size_t arguments = 0;  // `<` of the last template arguments, or `end`
  std::size_t end = 0;        // beginning of the parameters
};

Parts split(std::string_view name) {
  Parts parts{0, 0, name.size(), name.size()};
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (depth == 0 && name.substr(i).starts_with(kAnonymous)) {
      i += kAnonymous.size() - 1;
      parts.base = i + 1;
      continue;
    }
    if (c == '<' || c == '(') {
      if (depth == 0 && c == '(') {
        parts.end = i;
        parts.arguments = std::min(parts.arguments, i);
        return parts;
      }
      if (depth++ == 0) parts.arguments = i;
    } else if (c == '>' || c == ')') {
      --depth;
    } else if (depth == 0 && c == ' ') {
      parts = {i + 1, i + 1, name.size(), name.size()};
    } else if (depth == 0 && c == ':') {
      parts.base = i + 1;
      parts.arguments = name.size();
    }
  }
  return parts;
}

}  // namespace

std::string short_kernel_name(std::string_view demangled, std::size_t columns) {
  const Parts parts = split(demangled);
  const auto slice = [&](std::size_t from, std::size_t to) { return std::string(demangled.substr(from, to - from)); };
  if (parts.begin >= parts.end || parts.base >= parts.end) return base::clip(demangled, columns);
  if (const std::string full = slice(parts.begin, parts.end); base::width(full) <= columns) return full;
  if (const std::string base = slice(parts.base, parts.end); base::width(base) <= columns) return base;
  const std::string folded = slice(parts.base, parts.arguments) + (parts.arguments < parts.end ? "<...>" : "");
  return base::clip(folded, columns);
}

std::string bare_kernel_name(std::string_view demangled) {
  const Parts parts = split(demangled);
  return std::string(demangled.substr(parts.base, parts.arguments - parts.base));
}

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
