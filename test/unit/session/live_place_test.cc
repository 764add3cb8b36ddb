#include <doctest/doctest.h>
#include <sys/stat.h>

#include <fstream>

#include "session/session_folders.h"
#include "unit/scratch_folder.h"

using namespace cudadiag;

TEST_CASE("the file with a live recording's place is read as written") {
  const auto place = session::parse_live_place(session::write_live_place({4711, 5, 123456789012}));
  REQUIRE(place);
  CHECK(place->pid == 4711);
  CHECK(place->descriptor == 5);
  CHECK(place->inode == 123456789012);
}

TEST_CASE("an invalid file is rejected") {
  for (const char* text : {"", "4711 5 123", "4711 5\n", "0 5 123\n", "4711 -1 123\n", "4294967295 5 123\n",
                           "4711 5 123\nmore", "4711 5 x\n", " 4711 5 123\n", "99999999999 5 123\n"}) {
    CAPTURE(text);
    CHECK(!session::parse_live_place(text));
  }
}

TEST_CASE("a pipe in place of the file does not block the reader") {
  const test::ScratchFolder folder;
  REQUIRE(::mkfifo((folder.path() / session::kArenaFile).c_str(), 0600) == 0);
  CHECK(!session::live_place(folder.path()));
}
