#include "base/json_limits.h"

#include <doctest/doctest.h>

#include <string>

using namespace cudadiag::base;

namespace {

constexpr JsonLimits kAmple{.depth = 8, .parts = 100};

std::string nested(int depth) {
  return std::string(static_cast<std::size_t>(depth), '[') + std::string(static_cast<std::size_t>(depth), ']');
}

}  // namespace

TEST_CASE("a JSON text within the limits passes") {
  for (const char* text : {"{}", "[]", "null", "1", "-2.5e3", "\"x\"", R"({"a":[1,true,null,{"b":"c"}]})"}) {
    CHECK_MESSAGE(is_json_within(text, kAmple), text);
  }
}

TEST_CASE("text that is not exactly one JSON value is rejected") {
  for (const char* text : {"", "{", "[1,]", "{} {}", "nul", "{\"a\"}", "\xff"}) {
    CHECK_MESSAGE(!is_json_within(text, kAmple), text);
  }
}

TEST_CASE("objects and arrays may be nested up to the limit") {
  CHECK(is_json_within(nested(8), kAmple));
  CHECK_FALSE(is_json_within(nested(9), kAmple));
  CHECK_FALSE(is_json_within(R"({"a":{"b":{}}})", {.depth = 2, .parts = 100}));
}

TEST_CASE("keys, values and both ends of each object count as parts") {
  const std::string text = R"({"a":[1,2],"b":null})";  // the 9 parts: 2 object ends, 2 keys, 2 array ends, 2 numbers
                                                       // and null
  CHECK(is_json_within(text, {.depth = 8, .parts = 9}));
  CHECK_FALSE(is_json_within(text, {.depth = 8, .parts = 8}));
}
