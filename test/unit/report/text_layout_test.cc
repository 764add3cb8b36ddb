#include "report/text_layout.h"

#include <doctest/doctest.h>

namespace page_test {

using namespace cudadiag::report;

TEST_CASE("sections lose lines in their order of dispensability") {
  Page page;
  page.sections = {{"Why", {"a", "b", "c"}, 1, 1, Ink::plain, Wide::wraps, 0, false, Topic::cause},
                   {"Fix", {"d", "e"}, 1, 2, Ink::plain, Wide::wraps, 0, false, Topic::fix}};
  page.fit(3);
  CHECK(page.print() == "Why     a\n        b ...\nFix     d ...\n");
  page.fit(0);
  CHECK(page.print() == "Why     a ...\nFix     d ...\n");
}

TEST_CASE("sentences wrap at spaces, source is cut at the right edge, and commands to paste stay whole") {
  Page page;
  page.columns = 16;
  page.sections = {{"Why", {"12 34 5678 12345678901 2", "  ab 12345678"}, 1, 0, Ink::plain},
                   {"", {"123456789 123456789"}, 1, 0, Ink::plain, Wide::is_cut},
                   {"Next", {"123456 890"}, 1, 0, Ink::plain, Wide::stays}};
  CHECK(page.print() ==
        "Why     12 34\n        5678\n        12345678901\n        2\n          ab\n          12345678\n"
        "123456789 123...\nNext    123456 890\n");
}

TEST_CASE("commands and the comments after them are not broken, and sentences about cudadiag are") {
  CHECK(wrapped("to prove it: cudadiag bisect --time-limit SECONDS <INPUT; or wait", 30) ==
        std::vector<std::string>{"to prove it:", "cudadiag bisect --time-limit SECONDS <INPUT;", "or wait"});
  CHECK(wrapped("cudadiag bisect 'a b'  # a rerun; it can write", 30) ==
        std::vector<std::string>{"cudadiag bisect 'a b'", "# a rerun; it can write"});
  CHECK(wrapped("cudadiag run --once -- python it.py two", 16) ==
        std::vector<std::string>{"cudadiag run --once -- python it.py two"});
  CHECK(wrapped("to remove it: cudadiag rm --force '/a b'", 16) ==
        std::vector<std::string>{"to remove it:", "cudadiag rm --force '/a b'"});
  CHECK(wrapped("cudadiag saves inputs only then", 16) ==
        std::vector<std::string>{"cudadiag saves", "inputs only then"});
  CHECK(wrapped("cudadiag report shows the rest", 16) == std::vector<std::string>{"cudadiag report", "shows the rest"});
}

TEST_CASE("a sentence is dropped whole, and cut only if nothing else is left") {
  Page page;
  page.columns = 16;
  page.sections = {{"Fix", {"12345678 12345678 12345678", "12345678 12345678"}, 1, 1, Ink::plain},
                   {"Blamed", {"12345678 12345678"}, 1, 0, Ink::plain}};
  page.fit(6);
  CHECK(page.print() ==
        "Fix     12345678\n        12345678\n        12345678\n        ...\nBlamed  12345678\n        12345678\n");
  page.fit(4);
  CHECK(page.print() == "Fix     12345678\n        ...\nBlamed  12345678\n        12345678\n");
}

TEST_CASE("stack, kernel and facts go before the cause, the fix and the blame lose a word") {
  const std::string sentence = "12345678 12345678";
  Page page;
  page.columns = 24;
  page.sections = {{"Why", {sentence, "value"}, 1, 3, Ink::plain, Wide::wraps, 0, false, Topic::cause},
                   {"Known", {sentence}, 1, 3, Ink::plain, Wide::wraps, 0, false, Topic::evidence},
                   {"Fix", {sentence, "or that"}, 1, 3, Ink::plain, Wide::wraps, 0, false, Topic::fix},
                   {"Blamed", {sentence}, 2, 0, Ink::plain, Wide::wraps, 0, false, Topic::blame},
                   {"Kernel", {sentence}, 1, kDroppable},
                   {"Stack", {sentence}, 1, 6, Ink::plain, Wide::wraps, 0, false, Topic::fact, "a.py:1"}};
  page.fit(13);
  CHECK(page.print().ends_with("Kernel  12345678\n        12345678\nStack   a.py:1\n"));
  page.fit(11);
  CHECK(page.print().ends_with("Blamed  12345678\n        12345678\nStack   a.py:1\n"));
  page.fit(10);
  CHECK(page.print() ==
        "Why     12345678\n        12345678\n        value\nKnown   12345678 ...\nFix     12345678\n        12345678\n"
        "        or that\nBlamed  12345678\n        12345678\nStack   a.py:1\n");
}

TEST_CASE("a whole row of memory goes before the lines that a section should keep") {
  Page page;
  page.sections = {{"First", {"a.py:39", "memset"}, 2, 3}, {"Memory", {"0x10"}, 1, 6}, {"Next", {"a", "b", "c"}, 3, 0}};
  page.fit(5);
  CHECK(page.print() == "First   a.py:39\n        memset\nNext    a\n        b\n        c\n");
}

TEST_CASE("colour does not change the text") {
  Page page;
  page.colour = true;
  page.sections = {{"", {"head"}, 1, 0, Ink::headline}, {"Why", {"a", "b"}, 1, 0, Ink::plain}};
  CHECK(page.print() == "\x1b[1;31mhead\x1b[0m\n\x1b[1mWhy     \x1b[0ma\n        b\n");
}

TEST_CASE("justify keeps two spaces between the texts, and cuts the left one") {
  CHECK(justify("abc", "[x]", 10) == "abc    [x]");
  CHECK(justify("abcdefgh", "[x]", 10) == "ab...  [x]");
}

}  // namespace page_test
