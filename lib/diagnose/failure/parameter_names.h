// Names a failed kernel's parameters, by the declarations in its source and the variables at the line of the call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/analysis.h"
#include "diagnose/facts/report_model.h"

namespace cudadiag::diagnose {

// A parameter as the kernel's source declares it. The functions below search text instead of parsing C++, and return an
// empty result if in doubt.
struct DeclaredParameter {
  std::string type;  // "const float*"; empty in Python
  std::string name;  // empty if the parameter has none, or if two declarations differ
};
using DeclaredParameters = std::vector<DeclaredParameter>;

// Returns the parameters of the `__global__` function `kernel`, whose name is given without namespaces, template
// arguments and parameters. The C++ source may be a string inside a Python file. Reads only declarations with `count`
// parameters. If `count` is 0, accepts any number, but all declarations must have the same one.
DeclaredParameters declared_parameters(std::string_view source, std::string_view kernel, std::size_t count);

// Returns the parameters of a Triton kernel that was launched with `count` parameters. Triton drops compile-time
// constants and appends two parameters of its own. If Triton also dropped a parameter because its value is 1, the
// result is empty.
DeclaredParameters declared_triton_parameters(std::string_view source, std::string_view kernel, std::size_t count);

// Returns the member of the plain structure `type` that begins at this byte: "float*" and "cells"; empty if unknown.
DeclaredParameter declared_member(std::string_view source, std::string_view type, std::uint64_t byte);
// Returns what begins at this byte of the memory to which a pointer of this type points: "float*" and "[1].cells" for
// "const Row*"; empty if unknown.
DeclaredParameter declared_element(std::string_view source, std::string_view type, std::uint64_t byte);

// Returns the variable at the line of the call whose tensor begins where this parameter points; empty unless there is
// exactly one.
std::string passed_variable(const std::vector<Argument>& arguments, const Argument& parameter);

// `failures` has one entry for each finding, in the same order.
void name_parameters(Diagnosis& report, const std::vector<const analyse::Failure*>& failures);

}  // namespace cudadiag::diagnose
