// fmt's own code, for programs that are to run without its shared library: distributions have no static one, and
// headers alone (FMT_HEADER_ONLY) would be compiled again with every file that formats text, at seconds each.
#define FMT_HEADER_ONLY
#include <fmt/format.h>

namespace {

// What fmt/core.h leaves to the library: fmt::format is this. Inline, it is compiled only where something needs it.
[[maybe_unused, gnu::used]] std::string (*const kFormat)(fmt::string_view, fmt::format_args) = &fmt::vformat;

}  // namespace
