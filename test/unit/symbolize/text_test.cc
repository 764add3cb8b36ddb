#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "symbolize/source_file.h"

using namespace cudadiag::symbolize;
namespace fs = std::filesystem;

TEST_CASE("text from the target cannot drive a terminal") {
  CHECK(plain_text("a\x1b[31mb", 100) == "a?[31mb");
  CHECK(plain_text("\tx\ty", 100) == "    x   y");
  CHECK(plain_text("caf\xc3\xa9", 100) == "caf\xc3\xa9");
  CHECK(plain_text("\xc2\x9b"
                   "2J",
                   100) == "?2J");  // a C1 control character, which starts an escape sequence
  CHECK(plain_text("\xe2\x80\xae"
                   "evil",
                   100) == "?evil");                               // right-to-left override
  CHECK(plain_text("\xc0\xaf\xed\xa0\x80\xff", 100) == "??????");  // an overlong encoding, a surrogate, and a stray
                                                                   // byte
  CHECK(plain_text(std::string_view("a\0b", 3), 100) == "a?b");
}

TEST_CASE("text is cut between characters") {
  CHECK(plain_text("ab\xc3\xa9", 3) == "ab");
  CHECK(plain_text("ab\xc3\xa9", 4) == "ab\xc3\xa9");
  CHECK(plain_text("ab\xc3", 10) == "ab?");
}

TEST_CASE("an excerpt has the line and those of its neighbours that exist") {
  const fs::path file = fs::temp_directory_path() / "cudadiag_test_excerpt.txt";
  std::ofstream(file) << "one\ntwo\r\nthree\nfour";
  const auto at = [&](int line, int neighbours) {
    std::string text;
    for (const auto& [number, source] : source_excerpt(file, line, neighbours)) {
      text += std::to_string(number) + source + " ";
    }
    return text;
  };
  CHECK(at(2, 1) == "1one 2two 3three ");
  CHECK(at(1, 1) == "1one 2two ");
  CHECK(at(4, 0) == "4four ");
  CHECK(at(5, 1) == "");
  CHECK(at(0, 1) == "");
  std::ofstream(file) << "one\rtwo\r\nthree\n\rfive\r";
  CHECK(at(2, 1) == "1one 2two 3three ");  // a lone CR also ends a line in compilers and Python
  CHECK(at(5, 1) == "4 5five ");
  CHECK(at(6, 0) == "");
  fs::remove(file);
  CHECK(at(1, 1) == "");
  CHECK(source_excerpt("<string>", 1, 1).empty());
  CHECK(source_excerpt("/dev/zero", 1, 1).empty());
  CHECK(source_excerpt("/", 1, 1).empty());
  CHECK(source_excerpt("/proc/self/status", 1, 0).empty());  // the contents of this file depend on who reads it
}

TEST_CASE("a comment is not code, and a mark inside a string does not begin a comment") {
  CHECK(without_comment("y = emb(x)  # positions too", "#") == "y = emb(x)");
  CHECK(without_comment("y = at['#', \"it's\"] # why", "#") == "y = at['#', \"it's\"]");
  CHECK(without_comment(R"(y = "a\"#b")", "#") == R"(y = "a\"#b")");
  CHECK(without_comment("smooth<<<1, 32>>>(row);  // the third", "//") == "smooth<<<1, 32>>>(row);");
  CHECK(without_comment("x //= 2", "#") == "x //= 2");
}
