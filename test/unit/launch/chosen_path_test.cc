#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>

#include "launch/spawn.h"
#include "unit/scratch_folder.h"

using namespace cudadiag;
namespace fs = std::filesystem;
using launch::only_trusted_can_write;
using test::ScratchFolder;

namespace {
const uid_t kNobody = 65534;
}

TEST_CASE("a file is trusted unless another user can write to it or to a folder above it") {
  const ScratchFolder scratch;
  const auto file = scratch.file("folder/file");
  CHECK(only_trusted_can_write(file, ::geteuid()));
  CHECK_FALSE(only_trusted_can_write(scratch.path() / "folder/absent", ::geteuid()));
  for (const fs::path& part : {file, file.parent_path(), scratch.path()}) {
    fs::permissions(part, fs::perms::others_write, fs::perm_options::add);
    CHECK_FALSE(only_trusted_can_write(file, ::geteuid()));
    fs::permissions(part, fs::perms::others_write, fs::perm_options::remove);
  }
  CHECK(only_trusted_can_write(file, ::geteuid()));
}

TEST_CASE("a sticky folder that everyone can write to is trusted, but a link is not followed blindly") {
  const ScratchFolder scratch;
  const auto file = scratch.file("shared/file");
  fs::permissions(scratch.path() / "shared", fs::perms::all | fs::perms::sticky_bit);
  CHECK(only_trusted_can_write(file, ::geteuid()));
  fs::permissions(scratch.path() / "shared", fs::perms::all);
  fs::create_symlink(file, scratch.path() / "link");
  CHECK_FALSE(only_trusted_can_write(scratch.path() / "link", ::geteuid()));
}

TEST_CASE("a file of another user is trusted only if that user's program runs") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root can give a file away");
    return;
  }
  const ScratchFolder scratch;
  const auto file = scratch.file("file");
  REQUIRE(::chown(file.c_str(), kNobody, kNobody) == 0);
  CHECK_FALSE(only_trusted_can_write(file, ::geteuid()));
  CHECK(only_trusted_can_write(file, kNobody));
}
