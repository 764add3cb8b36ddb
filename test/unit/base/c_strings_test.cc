#include <doctest/doctest.h>

#include <string_view>

#include "base/text.h"

namespace cudadiag::base {

TEST_CASE("an array of C strings ends in a null pointer") {
  const std::vector<std::string> strings = {"env", "", "A=1"};
  const std::vector<char*> pointers = c_strings(strings);
  REQUIRE(pointers.size() == 4);
  for (std::size_t i = 0; i < strings.size(); ++i) CHECK(std::string_view(pointers[i]) == strings[i]);
  CHECK(pointers[3] == nullptr);
  CHECK(c_strings({}) == std::vector<char*>{nullptr});
}

}  // namespace cudadiag::base
