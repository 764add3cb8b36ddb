#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/files.h"
#include "session/session_files.h"
#include "unit/scratch_folder.h"

namespace cudadiag::session {

namespace fs = std::filesystem;

TEST_CASE("copies skip zeros and keep the size") {
  const test::ScratchFolder scratch;
  const fs::path from = scratch.path() / "from";
  const fs::path to = scratch.path() / "to";
  const base::FileDescriptor source(::open(from.c_str(), O_RDWR | O_CREAT, 0600));
  const base::FileDescriptor target(::open(to.c_str(), O_RDWR | O_CREAT, 0600));
  REQUIRE(::ftruncate(source.get(), 1 << 20) == 0);
  REQUIRE(::pwrite(source.get(), "data", 4, 500'000) == 4);
  REQUIRE(copy_sparse(source.get(), 4096, 1 << 20, target.get()));
  CHECK(fs::file_size(to) == (1 << 20) - 4096);
  char text[5] = {};
  CHECK(::pread(target.get(), text, 4, 500'000 - 4096) == 4);
  CHECK(std::string(text) == "data");
  struct stat status {};
  ::fstat(target.get(), &status);
  CHECK(status.st_blocks * 512 <= 8192);
}
}  // namespace cudadiag::session
