#include <doctest/doctest.h>

#include <cstdint>

#include "diagnose/causes/case.h"

using namespace cudadiag::causes;

TEST_CASE("a text that lacks a fact is omitted") {
  Facts facts;
  facts.add("a", "1");
  CHECK(filled("a is {a}", facts) == "a is 1");
  CHECK(filled("nothing", facts) == "nothing");
  CHECK(!filled("{a} and {b}", facts));
  CHECK(!filled("{a", facts));
  facts.add("b", "{a}");
  CHECK(filled("{b}", facts) == "{a}");  // a brace inside a fact does not start a placeholder
  CHECK(filled("a[ is {a}]!", facts) == "a is 1!");
  CHECK(filled("a[ is {c}]!", facts) == "a!");
  CHECK(filled("a[ is {c}|, not c]", facts) == "a, not c");
  CHECK(filled("a[ is {a}|, not c]", facts) == "a is 1");
  CHECK(!filled("a[ is {c}| or {d}]", facts));
  CHECK(!filled("a[ is {a}", facts));
}

TEST_CASE("sizes and subscripts") {
  CHECK(size_text(512) == "512 bytes");
  CHECK(size_text(12884901888) == "12.0 GiB");
  CHECK(size_text(UINT64_MAX) == "16.0 EiB");
  CHECK(size_text((1ull << 40) - 1) == "1.0 TiB");
  CHECK(subscript({}) == "");
  CHECK(subscript({0, 77}) == "[0,77]");
  CHECK(item_size("float16") == 2);
  CHECK(item_size("bfloat16") == 2);
  CHECK(item_size("torch.int64") == 8);
  CHECK(item_size("complex64") == 8);
  CHECK(item_size("float8_e4m3fn") == 1);
  CHECK(item_size("quint4x2") == 0);
}

TEST_CASE("the extent of impossible shapes is unknown") {
  Argument argument;
  CHECK(!extent(argument));
  argument.shape = {INT64_MAX, INT64_MAX};
  CHECK(!extent(argument));
  argument.shape = {-1};
  CHECK(!extent(argument));
  argument.shape = {3, 0};
  CHECK(!extent(argument));
  argument.shape = {3, 4};
  CHECK(extent(argument) == 12u);
}
