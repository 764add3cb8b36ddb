#include "diagnose/words.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <string>

#include "base/text.h"

namespace words_test {

using namespace cudadiag;
using namespace cudadiag::diagnose;

namespace {

// Pastes the text into bash, and returns the words that bash splits it into.
std::string pasted(const std::string& word) {
  const std::string command = "exec bash -c " + shell_word("printf %s " + word);
  std::FILE* shell = ::popen(command.c_str(), "r");
  REQUIRE(shell != nullptr);
  std::string text;
  for (int c = 0; (c = std::fgetc(shell)) != EOF;) text += static_cast<char>(c);
  ::pclose(shell);
  return text;
}

}  // namespace

TEST_CASE("words are quoted for a shell only if necessary") {
  CHECK(shell_word("/tmp/a-b_c.d") == "/tmp/a-b_c.d");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("it's a b") == "'it'\\''s a b'");
  CHECK(shell_word("\u00fcber") == "'\u00fcber'");
}

TEST_CASE("bytes that cannot be shown are escaped so that a shell reads them back") {
  CHECK(shell_word("/tmp/\xff"
                   "1") == "$'/tmp/\\3771'");
  CHECK(shell_word("it's\n\\") == "$'it\\'s\\012\\\\'");
  for (const std::string word : {"/tmp/\xff"
                                 "1",
                                 "it's\n\t\\n", "\x1b[1m \u00fc", "\u202e$HOME \xc3"}) {
    const std::string quoted = shell_word(word);
    CHECK(base::printable(quoted) == quoted);
    CHECK(pasted(quoted) == word);
  }
}

TEST_CASE("the command that reruns a recording names the input that the user must supply") {
  CHECK(bisect_command("/s", false, {}) == "cudadiag bisect /s");
  CHECK(bisect_command("/a b", false, {}, "--repeat 20") == "cudadiag bisect '/a b' --repeat 20");
  CHECK(bisect_command("/s", true, {}, "--values") == "cudadiag bisect /s --values <INPUT");
}

TEST_CASE("a suggested command has the options of the first one, unless new ones replace them") {
  CHECK(bisect_command("", false, {"--repeat=5", "--save-launch"}) == "cudadiag bisect --repeat=5 --save-launch");
  CHECK(bisect_command("", false, {"--repeat=5", "--save-launch"}, "--isolated --repeat 20") ==
        "cudadiag bisect --save-launch --isolated --repeat 20");
  CHECK(bisect_command("", false, {"--sanitize"}, "--sanitize") == "cudadiag bisect --sanitize");
  CHECK(record_command({"races", "--watch=a b.py:3"}, {"./x", "y z"}, true, "-o FOLDER") ==
        "cudadiag races '--watch=a b.py:3' -o FOLDER -- ./x 'y z' <INPUT");
  CHECK(record_command({}, {"./x"}, false) == "cudadiag run -- ./x");
  CHECK(record_command({"run", "--rerun=never"}, {"./x"}, false) == "cudadiag run -- ./x");
}

TEST_CASE("a descriptor in a command is one that only the first run had") {
  CHECK(descriptor_in({"./x", "--input=/dev/fd/63"}) == "/dev/fd/63");
  CHECK(descriptor_in({"/proc/self/fd/3"}) == "/proc/self/fd/3");
  CHECK(descriptor_in({"bash", "-c", "exec 3<data; exec ./x /dev/fd/3", "--title=about_/dev/fd/5"}).empty());
  CHECK(descriptor_in({"./x", "/dev/fd/0", "/dev/fd/", "sh -c 'cat /dev/fd/3 3<file'", "/dev/fd/3x"}).empty());
}

}  // namespace words_test
