#include "diagnose/failure/parameter_names.h"

#include <doctest/doctest.h>

namespace parameter_names_test {

using namespace cudadiag;
using diagnose::Argument;

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

}  // namespace parameter_names_test
