// A kernel's parameters as its source declares them. Reads text, not C++: it returns nothing where the text leaves
// doubt.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cudadiag::diagnose {

struct DeclaredParameter {
  std::string type;  // "const float*"; empty in Python
  std::string name;  // empty: it has none, or two declarations differ
};
using DeclaredParameters = std::vector<DeclaredParameter>;

// The parameters of the `__global__` function `kernel`, a name without namespaces, template arguments and parameters. The
// C++ source may be a string inside a Python file. Only declarations with `count` parameters are read; 0: any, if all
// have as many.
DeclaredParameters declared_parameters(std::string_view source, std::string_view kernel, std::size_t count);

// The parameters of a Triton kernel that was launched with `count` parameters. Triton drops those that are compile-time
// constants, and appends two of its own. If it dropped others too, as it does for the number 1, nothing is returned.
DeclaredParameters declared_triton_parameters(std::string_view source, std::string_view kernel, std::size_t count);

// The member of the plain structure `type` that begins at this byte: "cells"; empty if not known.
std::string declared_member(std::string_view source, std::string_view type, std::uint32_t byte);

}  // namespace cudadiag::diagnose
