#include <doctest/doctest.h>

#include "replay/verdict.h"

using namespace cudadiag::replay;

TEST_CASE("all lines of a child are read") {
  const Answer answer =
      read_answer("only-reached\nblock 3 7f0000a00000\nplaced 2 of 3\nrewritten 17\nlaunching\nresult 0\noutputs\n");
  CHECK(answer.only_reached);
  CHECK(answer.moved.at(3) == 0x7f0000a00000);
  CHECK(answer.placed == 2);
  CHECK(answer.placeable == 3);
  CHECK(answer.rewritten == 17);
  CHECK(answer.launching);
  CHECK(answer.result == 0u);
  CHECK(!answer.refused);
  CHECK(answer.outputs);
}

TEST_CASE("a line that was cut short is ignored") {
  CHECK(!read_answer("launching\nresult 7").result);
  CHECK(!read_answer("launchin").launching);
  CHECK(read_answer("nonsense\n\n \nplaced\nblock\n").placeable == 0);
}
