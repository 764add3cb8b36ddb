// Folders that programs and other users have changed are removed without touching anything outside them.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <system_error>

#include "base/files.h"
#include "unit/scratch_folder.h"

using namespace cudadiag;
namespace fs = std::filesystem;

namespace {

base::FileDescriptor opened(const fs::path& folder) { return base::open_plain_folder(AT_FDCWD, folder.c_str()); }

}  // namespace

TEST_CASE("a folder is removed with everything in it, however deep and whatever its modes are") {
  const test::ScratchFolder scratch;
  const fs::path folder = scratch.path() / "private";
  scratch.file("private/file", "text");
  scratch.file("private/removed-0/taken", "text");
  constexpr int kDeep = 5000;  // more than a process may open
  REQUIRE(::mkdir((folder / "deep").c_str(), 0700) == 0);
  base::FileDescriptor inner = opened(folder / "deep");
  for (int level = 0; level < kDeep; ++level) {
    REQUIRE(::mkdirat(inner.get(), "d", 0700) == 0);
    base::FileDescriptor next = base::open_plain_folder(inner.get(), "d");
    REQUIRE(next.valid());
    if (level % 1000 == 0) ::fchmod(inner.get(), 0500);
    inner = std::move(next);
  }
  inner = base::FileDescriptor();
  ::chmod(folder.c_str(), 0500);
  const base::FileDescriptor made = opened(folder);
  base::remove_folder(made);
  CHECK(fs::is_empty(scratch.path()));
}

TEST_CASE("a folder is removed where it is now, and what took its place stays") {
  const test::ScratchFolder scratch;
  scratch.file("session/private/file", "text");
  scratch.file("outside/private/file", "text");
  fs::create_symlink(scratch.path() / "outside", scratch.path() / "session/private/link");
  const base::FileDescriptor made = opened(scratch.path() / "session/private");
  fs::rename(scratch.path() / "session", scratch.path() / "moved");
  fs::create_symlink(scratch.path() / "outside", scratch.path() / "session");
  base::remove_folder(made);
  CHECK_FALSE(fs::exists(scratch.path() / "moved/private"));
  CHECK(fs::exists(scratch.path() / "outside/private/file"));
}

TEST_CASE("an entry is removed without following it, and a file only if its path still leads to it") {
  const test::ScratchFolder scratch;
  scratch.file("outside/file", "text");
  scratch.file("folder/tree/file", "text");
  fs::create_symlink(scratch.path() / "outside", scratch.path() / "folder/link");
  const base::FileDescriptor folder = opened(scratch.path() / "folder");
  base::remove_from(folder, "link");
  base::remove_from(folder, "tree");
  base::remove_from(folder, "missing");
  CHECK(base::names_in(folder).empty());
  CHECK(fs::exists(scratch.path() / "outside/file"));

  const fs::path path = scratch.file("page.html", "ours");
  const base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  fs::rename(path, scratch.path() / "elsewhere");
  scratch.file("page.html", "theirs");
  base::remove_file(file, path);
  CHECK(fs::exists(path));
  base::remove_file(file, scratch.path() / "elsewhere");
  CHECK_FALSE(fs::exists(scratch.path() / "elsewhere"));
}
