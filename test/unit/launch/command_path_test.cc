#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "launch/spawn.h"
#include "unit/scratch_folder.h"

namespace {

namespace fs = std::filesystem;
using cudadiag::launch::find_command;

void write(const fs::path& path, fs::perms rights) {
  std::ofstream(path) << "#!/bin/sh\n";
  fs::permissions(path, rights);
}

constexpr fs::perms kExecutable = fs::perms::owner_all;
constexpr fs::perms kPlain = fs::perms::owner_read;

// Sets PATH until the end of the scope.
class SearchPath {
 public:
  explicit SearchPath(const std::string& path) : before_(std::getenv("PATH")) { ::setenv("PATH", path.c_str(), 1); }
  ~SearchPath() { ::setenv("PATH", before_.c_str(), 1); }

 private:
  std::string before_;
};

}  // namespace

TEST_CASE("the first folder in PATH with an executable file of that name is used") {
  const cudadiag::test::ScratchFolder scratch;
  const fs::path root = scratch.path();
  for (const char* folder : {"a", "b", "c"}) fs::create_directory(root / folder);
  write(root / "a/tool", kPlain);
  write(root / "b/tool", kExecutable);
  write(root / "c/tool", kExecutable);
  const SearchPath path((root / "a").string() + ":" + (root / "b").string() + ":" + (root / "c").string());
  CHECK(find_command("tool").path == (root / "b/tool").string());
  CHECK(find_command("tool").error == 0);
}

TEST_CASE("a file that cannot be executed is a different error from no file") {
  const cudadiag::test::ScratchFolder scratch;
  const fs::path root = scratch.path();
  write(root / "tool", kPlain);
  fs::create_directory(root / "folder");
  const SearchPath path(root.string());
  CHECK(find_command("tool").error == EACCES);
  CHECK(find_command("folder").error == EACCES);
  CHECK(find_command("nothing").error == ENOENT);
  CHECK(find_command("").error == ENOENT);
  CHECK(find_command("tool").path.empty());
}

TEST_CASE("a name with a slash is a path and is not searched for") {
  const cudadiag::test::ScratchFolder scratch;
  const fs::path root = scratch.path();
  write(root / "tool", kExecutable);
  const SearchPath path(root.string());
  CHECK(find_command((root / "tool").string()).path == (root / "tool").string());
  CHECK(find_command("./tool-that-is-only-in-PATH").error == ENOENT);
}

TEST_CASE("a relative path is resolved from the given folder, but a name or an absolute path is not") {
  const cudadiag::test::ScratchFolder scratch;
  const fs::path root = scratch.path();
  write(root / "tool", kExecutable);
  const SearchPath path("/nowhere");
  CHECK(find_command("./tool", root.string()).path == (root / "./tool").string());
  CHECK(find_command((root / "tool").string(), "/nowhere").path == (root / "tool").string());
  CHECK(find_command("tool", root.string()).error == ENOENT);
}
