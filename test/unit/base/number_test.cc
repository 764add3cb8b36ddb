#include <doctest/doctest.h>

#include <cstdint>

#include "base/text.h"

namespace cudadiag::base {

TEST_CASE("only a text that is a number as a whole is read as one") {
  CHECK(whole_number<int>("4711") == 4711);
  CHECK(whole_number<int>("-1") == -1);
  CHECK(whole_number<std::uint64_t>("18446744073709551615") == UINT64_MAX);
  CHECK(whole_number<unsigned>("7fA0", 16) == 0x7fa0);
  for (const char* text : {"", " 1", "1 ", "+1", "1.0", "12a", "0x1"}) CHECK(whole_number<int>(text) == std::nullopt);
}

TEST_CASE("a number that does not fit is not read") {
  CHECK(whole_number<std::uint8_t>("256") == std::nullopt);
  CHECK(whole_number<std::uint64_t>("18446744073709551616") == std::nullopt);
  CHECK(whole_number<unsigned>("-1") == std::nullopt);
}

TEST_CASE("numbers are taken from the start of a text") {
  std::string_view text = "12 -3\nrest";
  int first = 0, second = 0;
  CHECK(take_number(text, first, ' '));
  CHECK(take_number(text, second, '\n'));
  CHECK(first == 12);
  CHECK(second == -3);
  CHECK(text == "rest");
}

TEST_CASE("a number without the character after it is left in the text") {
  for (const std::string_view whole : {"12", "", " 12 ", "12,3 ", "x ", "99999999999 "}) {
    std::string_view text = whole;
    int number = 0;
    CHECK_FALSE(take_number(text, number, ' '));
    CHECK(text == whole);
    CHECK(number == 0);
  }
}

TEST_CASE("large numbers have separators") {
  CHECK(thousands(0) == "0");
  CHECK(thousands(999) == "999");
  CHECK(thousands(1000) == "1,000");
  CHECK(thousands(123456789) == "123,456,789");
  CHECK(thousands(UINT64_MAX) == "18,446,744,073,709,551,615");
}

}  // namespace cudadiag::base
