#include "report/page.h"

#include <doctest/doctest.h>

using namespace cudadiag::report;

TEST_CASE("sections give up lines in the order of their sacrifice") {
  Page page;
  page.sections = {{"Why", {"a", "b", "c"}, 1, 1, Ink::plain, false}, {"Fix", {"d", "e"}, 1, 2, Ink::plain, false}};
  page.fit(3);
  CHECK(page.print() == "Why     a\n        b ...\nFix     d ...\n");
  page.fit(0);
  CHECK(page.print() == "Why     a ...\nFix     d ...\n");
}

TEST_CASE("lines end at the right edge, commands to paste do not") {
  Page page;
  page.columns = 16;
  page.sections = {{"Why", {"1234567890"}, 1, 0, Ink::plain, false}, {"Next", {"1234567890"}, 1, 0, Ink::plain, true}};
  CHECK(page.print() == "Why     12345...\nNext    1234567890\n");
}

TEST_CASE("colour changes nothing but the ink") {
  Page page;
  page.colour = true;
  page.sections = {{"", {"head"}, 1, 0, Ink::headline, false}, {"Why", {"a", "b"}, 1, 0, Ink::plain, false}};
  CHECK(page.print() == "\x1b[1;31mhead\x1b[0m\n\x1b[1mWhy     \x1b[0ma\n        b\n");
}

TEST_CASE("justify keeps two spaces between, and cuts the left") {
  Page page;
  page.columns = 10;
  CHECK(page.justify("abc", "[x]") == "abc    [x]");
  CHECK(page.justify("abcdefgh", "[x]") == "ab...  [x]");
}
