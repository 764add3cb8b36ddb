#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/files.h"
#include "unit/scratch_folder.h"

namespace cudadiag::base {

namespace fs = std::filesystem;

TEST_CASE("a regular file is opened, and its start is read") {
  const test::ScratchFolder folder;
  const fs::path file = folder.file("log", "0123456789");
  CHECK(size_of(open_plain(file)) == 10);
  CHECK(read_start(file, 100) == "0123456789");
  CHECK(read_start(file, 4) == "0123");
  CHECK(read_start(folder.file("empty"), 4) == "");
}

TEST_CASE("whatever is not a regular file is refused without waiting for it") {
  const test::ScratchFolder folder;
  const fs::path pipe = folder.path() / "pipe", link = folder.path() / "link";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  fs::create_symlink(folder.file("log", "text"), link);
  struct {
    fs::path path;
    int error;
  } const cases[] = {
      {pipe, 0}, {folder.path(), 0}, {"/dev/null", 0}, {link, ELOOP}, {folder.path() / "missing", ENOENT}};
  for (const auto& each : cases) {
    CAPTURE(each.path);
    errno = EBADF;
    const bool opened = open_plain(each.path).valid();
    const int why = errno;
    CHECK_FALSE(opened);
    CHECK(why == each.error);
    CHECK(read_start(each.path, 4) == "");
  }
}

}  // namespace cudadiag::base
