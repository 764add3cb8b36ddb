#include <doctest/doctest.h>

#include "base/text.h"

namespace cudadiag::base {

TEST_CASE("bytes in hexadecimal can be read again") {
  const std::vector<std::byte> bytes = {std::byte{0x00}, std::byte{0x7f}, std::byte{0xa5}, std::byte{0xff}};
  CHECK(hex_of(bytes) == "007fa5ff");
  CHECK(bytes_of_hex("007fa5ff") == bytes);
  CHECK(bytes_of_hex("007FA5FF") == bytes);
  CHECK(bytes_of_hex("") == std::vector<std::byte>());
}

TEST_CASE("other text is not taken for bytes") {
  for (const char* text : {"0", "007", "0g", "g0", "-1", "+1", " 1", "0x00"}) CHECK(bytes_of_hex(text) == std::nullopt);
}

}  // namespace cudadiag::base
