#include "sass/code/lines.h"

#include <doctest/doctest.h>

namespace cudadiag::sass {

TEST_CASE("an address is split into its terms") {
  using Terms = std::vector<std::string_view>;
  CHECK(terms_in("R2.64+UR4+0x10") == Terms{"R2.64", "UR4", "0x10"});
  CHECK(terms_in("R2+-0x10") == Terms{"R2", "-0x10"});
  CHECK(terms_in("R2") == Terms{"R2"});
  CHECK(terms_in("").empty());
}

}  // namespace cudadiag::sass
