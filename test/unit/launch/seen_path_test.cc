#include "launch/isolation/seen_path.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include "base/files.h"
#include "unit/scratch_folder.h"

using namespace cudadiag;
using test::ScratchFolder;
namespace fs = std::filesystem;

TEST_CASE("the path and the handle belong to the same file, even while the program replaces a descriptor") {
  const ScratchFolder scratch;
  for (const char* name : {"one/file", "other/file"}) {
    fs::create_directory((scratch.path() / name).parent_path());
    scratch.file(name);
  }
  const base::FileDescriptor one(::open((scratch.path() / "one").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const base::FileDescriptor other(::open((scratch.path() / "other").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const base::FileDescriptor folder(::dup(one.get()));
  std::atomic<bool> over = false;
  std::thread replaces([&] {
    while (!over) {
      ::dup2(one.get(), folder.get());
      ::dup2(other.get(), folder.get());
    }
  });
  bool same = true;
  constexpr int kTimes = 20'000;
  for (int i = 0; i < kTimes && same; ++i) {
    const launch::SeenPath seen = launch::see_path(::getpid(), folder.get(), "file", false);
    struct stat status {};
    same = ::stat(seen.path.c_str(), &status) == 0 && status.st_ino == seen.status.stx_ino;
  }
  over = true;
  replaces.join();
  CHECK(same);
}

TEST_CASE("a path with /proc/self is resolved as the rerun's process sees it, however it is spelled") {
  const ScratchFolder scratch;
  const fs::path folder = fs::canonical(scratch.path()), file = scratch.file("file");
  fs::create_symlink("/proc/self", folder / "me");
  const pid_t other = ::getppid(), own = ::getpid();
  for (const std::string start : {"/proc/self", "/proc//self", "/proc/./self", "/proc/../proc/self", "//proc/self"}) {
    CHECK(launch::see_path(other, AT_FDCWD, start + "/status", true).path ==
          "/proc/" + std::to_string(other) + "/status");
  }
  CHECK(launch::see_path(other, AT_FDCWD, (folder / "me/status").string(), true).path ==
        "/proc/" + std::to_string(other) + "/status");
  CHECK(launch::see_path(own, AT_FDCWD, "/proc/self/status", true).exists);
  CHECK(launch::see_path(own, AT_FDCWD, "/proc/thread-self/comm", true).path.native().ends_with("/comm"));
  CHECK(launch::see_path(own, AT_FDCWD, ".", true).path == fs::canonical("."));
  CHECK(launch::see_path(own, AT_FDCWD, "/proc/self/root/usr/..", true).path == "/");
  CHECK_FALSE(launch::see_path(own, AT_FDCWD, "/nowhere/file", true).reachable);
  const base::FileDescriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  const std::string name = "/proc/self/fd/" + std::to_string(opened.get());
  CHECK(launch::see_path(own, AT_FDCWD, name, true).path == fs::canonical(file));
  // The file has no name any more, but still exists.
  fs::remove(file);
  CHECK(launch::see_path(own, AT_FDCWD, name, true).exists);
}

TEST_CASE("a link is followed if a slash comes after it") {
  const ScratchFolder scratch;
  const fs::path folder = fs::canonical(scratch.path());
  fs::create_directory(folder / "real");
  fs::create_symlink("real", folder / "link");
  fs::create_symlink("loop", folder / "loop");
  CHECK(launch::see_path(::getpid(), AT_FDCWD, (folder / "link").string(), false).path == folder / "link");
  CHECK(launch::see_path(::getpid(), AT_FDCWD, (folder / "link").string() + "/", false).path == folder / "real");
  CHECK_FALSE(launch::see_path(::getpid(), AT_FDCWD, (folder / "loop").string(), true).reachable);
}
