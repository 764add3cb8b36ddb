#include "wire/error.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <initializer_list>

using cudadiag::wire::error::is_sticky;

TEST_CASE("errors that lose the context are sticky, others are not") {
  for (const std::uint32_t code : {214u, 700u, 710u, 719u, 810u, 911u}) CHECK(is_sticky(code));
  for (const std::uint32_t code : {0u, 2u, 4u, 9u, 221u, 600u, 701u, 708u, 709u, 720u, 900u}) CHECK(!is_sticky(code));
}
