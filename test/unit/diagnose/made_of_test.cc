#include <doctest/doctest.h>

#include "diagnose/unreported/findings.h"

namespace made_of_test {

using namespace cudadiag::diagnose;
using cudadiag::session::DeliveredNonFinite;

namespace {

DeliveredNonFinite element_of(std::vector<std::pair<std::string, std::string>> elements) {
  DeliveredNonFinite value;
  value.elements = std::move(elements);
  value.dtype = "float32";
  value.shape = {8, 1};
  value.index = {3, 0};
  value.bad = 1;
  return value;
}

}  // namespace

TEST_CASE("the text shows the numbers from which a NaN was computed") {
  CHECK(made_of("aten::div", element_of({{"self", "0.0"}, {"other", "0.0"}}), {}) ==
        "0 / 0 is NaN: element [3,0] of a float32[8,1] result");
  CHECK(made_of("aten::log_", element_of({{"self", "-1.5"}}), {}) ==
        "log of -1.5 is NaN: element [3,0] of a float32[8,1] result");
  CHECK(made_of("aten::pow", element_of({{"self", "-8.0"}, {"exponent", "0.5"}}), {}) ==
        "-8 to the power of 0.5 is NaN: element [3,0] of a float32[8,1] result");
}

TEST_CASE("without numbers the text names the infinite inputs") {
  DeliveredNonFinite value = element_of({});
  value.bad = 6;
  Argument self;
  self.name = "self";
  self.inf = 3;
  CHECK(
      made_of("aten::_softmax", value, {self}) ==
      "aten::_softmax produced NaN: element [3,0] of a float32[8,1] result, 6 bad elements in all; self has 3 infinite "
      "elements");
}

TEST_CASE("a NaN that came in is not reported as computed") {
  DeliveredNonFinite value;
  value.role = DeliveredNonFinite::Role::loaded;
  CHECK(made_of("aten::lift_fresh", value, {}) == "the data of this tensor contained NaN");
  value.role = DeliveredNonFinite::Role::passed;
  CHECK(made_of("aten::full", value, {}) == "the number NaN was passed to aten::full");
}

}  // namespace made_of_test
