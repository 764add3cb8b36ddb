#include <doctest/doctest.h>

#include <utility>

#include "unit/explain/symptoms_builder.h"

using namespace cudadiag::explain;

TEST_CASE("below the program") {
  const std::pair<std::uint32_t, const char*> wanted[] = {
      {214, "ecc"}, {220, "nvlink"}, {226, "memory-contained"}, {702, "launch-timeout"}};
  for (const auto& [code, id] : wanted) {
    CHECK(id_of(gpu_error(code)) == id);
    CHECK(explain(gpu_error(code))->certain);
  }
  CHECK(id_of(gpu_error(719)) == "none");
  CHECK(id_of(gpu_error(700)) == "none");
}
