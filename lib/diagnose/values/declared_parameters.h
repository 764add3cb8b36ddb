// A kernel's parameters as its source declares them. This reads text and does not parse C++; in case of doubt, it
// returns an empty result.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cudadiag::diagnose {

struct DeclaredParameter {
  std::string type;  // "const float*"; empty in Python
  std::string name;  // empty if it has none, or if two declarations differ
};
using DeclaredParameters = std::vector<DeclaredParameter>;

// The parameters of the `__global__` function `kernel`, named without namespaces, template arguments and parameters.
// The C++ source may be a string inside a Python file. Reads only declarations with `count` parameters. If `count` is
// 0, the number does not matter, but all declarations must agree.
DeclaredParameters declared_parameters(std::string_view source, std::string_view kernel, std::size_t count);

// The parameters of a Triton kernel that was launched with `count` parameters. Triton drops compile-time constants and
// appends two parameters of its own. If it dropped others too, as it does for the number 1, the result is empty.
DeclaredParameters declared_triton_parameters(std::string_view source, std::string_view kernel, std::size_t count);

// The member of the plain structure `type` that begins at this byte: "cells"; empty if unknown.
std::string declared_member(std::string_view source, std::string_view type, std::uint32_t byte);

}  // namespace cudadiag::diagnose
