// fmt's own code, compiled once. Our programs must run without fmt's shared library, and distributions have no static
// one. With headers alone (FMT_HEADER_ONLY), every file that formats text would take seconds longer to compile.
#define FMT_HEADER_ONLY
#include <fmt/format.h>

namespace {

// The function that fmt/core.h leaves to the library: fmt::format calls it. It is inline, so a reference must make the
// compiler emit it here.
[[maybe_unused, gnu::used]] std::string (*const kFormat)(fmt::string_view, fmt::format_args) = &fmt::vformat;

}  // namespace
