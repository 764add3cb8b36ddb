#include <doctest/doctest.h>

#include <string>

#include "base/text.h"

using namespace cudadiag::base;
using namespace std::string_literals;

TEST_CASE("ordinary text passes unchanged") {
  CHECK(printable("naïve λ → 計算 🙂") == "naïve λ → 計算 🙂");
  CHECK(printable("") == "");
}

TEST_CASE("control characters are spelled out") {
  CHECK(printable("a\x1b[31mred") == "a\\x1b[31mred");
  CHECK(printable("a\x1b]0;title\x07"
                  "b") == "a\\x1b]0;title\\x07b");
  CHECK(printable("one\ntwo\rthree\tfour") == "one\\ntwo\\rthree four");
  CHECK(printable("\x7f") == "\\x7f");
  CHECK(printable("a\0b"s) == "a\\x00b");
  CHECK(printable("\xc2\x9b"
                  "2J") == "\\u009b2J");
  CHECK(printable("x\xe2\x80\xae"
                  "y") == "x\\u202ey");
}

TEST_CASE("bytes that are not UTF-8 are spelled out one by one") {
  CHECK(printable("\xff\xfe") == "\\xff\\xfe");
  CHECK(printable("\xc0\xaf") == "\\xc0\\xaf");           // an overlong encoding
  CHECK(printable("\xe0\x80\xaf") == "\\xe0\\x80\\xaf");  // an overlong encoding
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // an encoded surrogate
  CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
  CHECK(printable("ab\xe2\x82") == "ab\\xe2\\x82");  // a truncated sequence
  CHECK(printable("\x9b") == "\\x9b");               // a lone C1 control byte
}

TEST_CASE("clip counts characters and never splits one") {
  CHECK(width("naïve") == 5);
  CHECK(clip("naïve", 5) == "naïve");
  CHECK(clip("ïïïïïï", 5) == "ïï...");
  CHECK(clip("abcdef", 2) == "..");
  CHECK(clip("", 0) == "");
}
