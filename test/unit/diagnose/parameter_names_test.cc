#include "diagnose/failure/parameter_names.h"

#include <doctest/doctest.h>

#include <string>

namespace parameter_names_test {

using namespace cudadiag;
using namespace cudadiag::diagnose;

namespace {

Argument variable(const char* name, std::uint64_t pointer) {
  Argument argument;
  argument.name = name;
  argument.origin = session::NameSource::variable;
  argument.pointer = pointer;
  return argument;
}

Argument parameter(std::uint64_t pointer) {
  Argument argument;
  argument.name = "parameter 2";
  argument.origin = session::NameSource::kernel;
  argument.parameter = 2;
  argument.pointer = pointer;
  return argument;
}

}  // namespace

TEST_CASE("the variable passed for a parameter is the only variable that begins at its address") {
  const Argument at_y = parameter(0x2000);
  CHECK(diagnose::passed_variable({variable("x", 0x1000), variable("y", 0x2000), at_y}, at_y) == "y");
  CHECK(diagnose::passed_variable({variable("y", 0x2000), variable("y", 0x2000), at_y}, at_y) == "y");
  CHECK(diagnose::passed_variable({variable("y", 0x2000), variable("view", 0x2000), at_y}, at_y).empty());
  CHECK(diagnose::passed_variable({variable("x", 0x1000), at_y}, at_y).empty());
}

TEST_CASE("a null parameter, and a value that is not a kernel parameter, have no variable") {
  const Argument null = parameter(0), other = variable("x", 0x1000);
  CHECK(diagnose::passed_variable({variable("nothing", 0), null}, null).empty());
  CHECK(diagnose::passed_variable({variable("y", 0x1000), other}, other).empty());
}

namespace {

// Returns the names separated by "|". A parameter without a name gives an empty name.
std::string names(const DeclaredParameters& parameters) {
  std::string out;
  for (std::size_t i = 0; i < parameters.size(); ++i) out += (i == 0 ? "" : "|") + parameters[i].name;
  return out;
}

std::string names_in(const std::string& source, std::size_t count = 0) {
  return names(declared_parameters(source, "scale", count));
}

}  // namespace

TEST_CASE("a kernel's definition gives the names of its parameters") {
  CHECK(names_in("__global__ void scale(float* x, const int n) {}") == "x|n");
  CHECK(names_in("template <typename T, int N = 3>\n__global__ void __launch_bounds__(256)\nscale(T *__restrict__ in, "
                 "T out[],\n"
                 "  std::pair<int, float> pair = {1, 2}) {}") == "in|out|pair");
  CHECK(names_in("__global__ void scale(/* where */ float* x,  // from, to\n int n) {}") == "x|n");
  CHECK(names_in("source = r'''extern \"C\" __global__ void scale(float* x, int n) { x[0] = n; }'''") == "x|n");
  CHECK(declared_parameters("__global__ void scale(const float* x)", "scale", 1).at(0).type == "const float*");
}

TEST_CASE("text that does not declare the kernel gives no names") {
  CHECK(names_in("void scale(float* x, int n) {}").empty());
  CHECK(names_in("__global__ void rescale(float* x, int n) {}").empty());
  CHECK(names_in("__global__ void other(float* x) {}\nvoid f() { scale(y, 3); }").empty());
  CHECK(names_in("// __global__ void scale(float* x, int n) {}").empty());
  CHECK(names_in("__global__ void scale(float* x, int n").empty());
  CHECK(names_in("__global__ void scale(float* x, int n) {}", 3).empty());
}

TEST_CASE("declarations that differ give only the names on which they agree") {
  const std::string declared = "__global__ void scale(float*, int count);\n";
  CHECK(names_in(declared + "__global__ void scale(float* x, int n) {}") == "x|");
  CHECK(names_in(declared + "__global__ void scale(float* x, int count) {}") == "x|count");
  CHECK(names_in(declared + "__global__ void scale(float* x) {}").empty());
  CHECK(names_in(declared + "__global__ void scale(float* x) {}", 1) == "x");
  CHECK(names_in("__global__ void scale(unsigned int, const size_t, float* __restrict__) {}") == "||");
}

TEST_CASE("a Triton kernel has its non-constant parameters, if Triton dropped none of them") {
  const std::string source =
      "@triton.jit\ndef add(x_ptr, y_ptr,  # in, out\n        n, BLOCK: tl.constexpr = 32):\n  pass\n";
  CHECK(names(declared_triton_parameters(source, "add", 5)) == "x_ptr|y_ptr|n||");
  CHECK(declared_triton_parameters(source, "add", 4).empty());
  CHECK(declared_triton_parameters(source, "add", 0).empty());
  CHECK(declared_triton_parameters(source + source, "add", 5).empty());
  CHECK(declared_triton_parameters("def add(*pointers):\n  pass\n", "add", 3).empty());
  CHECK(declared_triton_parameters("add(x, y, z)\n", "add", 5).empty());
}

TEST_CASE("a byte of a plain structure belongs to one of its members") {
  const std::string source =
      "struct Table {\n  float* cells;  // rows * width\n  int rows, width;\n  double* __restrict__ sums;\n};\n";
  CHECK(declared_member(source, "Table", 0).name == "cells");
  CHECK(declared_member(source, "const Table", 8).name == "rows");
  CHECK(declared_member(source, "Table", 12).name == "width");
  CHECK(declared_member(source, "Table", 16).name == "sums");
  CHECK(declared_member(source, "Table", 4).name.empty());
  CHECK(declared_member(source, "Other", 0).name.empty());
}

TEST_CASE("a structure with an uncertain layout has no known members") {
  CHECK(declared_member("struct T { Other o; float* x; };", "T", 8).name.empty());
  CHECK(declared_member("struct T { int flags : 3; float* x; };", "T", 8).name.empty());
  CHECK(declared_member("struct T : Base { float* x; };", "T", 0).name.empty());
  CHECK(declared_member("struct T { float *a, *b; };", "T", 8).name.empty());
  CHECK(declared_member("struct T { float a[3]; float* x; };", "T", 16).name.empty());
  CHECK(declared_member("struct T { CUdeviceptr x; };\nstruct T { float* x; };", "T", 0).name == "x");
  CHECK(declared_member("#ifdef A\nstruct T { float* x; };\n#else\nstruct T { float* y; };\n#endif", "T", 0)
            .name.empty());
}

TEST_CASE("a byte of a table belongs to a member of one of its rows") {
  const std::string source =
      "struct Row { float* cells; int count; };\nstruct Sheet { long number; const Row* rows; };\n";
  CHECK(declared_element(source, "const Row*", 16).name == "[1].cells");
  CHECK(declared_element(source, "const Row* __restrict__", 40).name == "[2].count");
  CHECK(declared_element(source, "Sheet*", 8).name == "[0].rows");
  CHECK(declared_element(source, "Sheet*", 8).type == "const Row*");
  CHECK(declared_element(source, "float* const*", 24).name == "[3]");
  CHECK(declared_element(source, "float* const*", 24).type == "float* const");
  CHECK(declared_element(source, "const Row*", 12).name.empty());
  CHECK(declared_element(source, "Row", 16).name.empty());
  CHECK(declared_element(source, "Other*", 16).name.empty());
  CHECK(declared_element(source + "struct Row { double* cells; long a, b; };", "Row*", 0).name.empty());
}

}  // namespace parameter_names_test
