#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/files.h"
#include "supervise/reruns/rerun_watch.h"
#include "unit/scratch_folder.h"

using namespace cudadiag;
using supervise::RerunOutput;

namespace {

struct Kept {
  base::FileDescriptor open() const {
    return base::FileDescriptor(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  }
  std::string text() const {
    std::ostringstream all;
    all << std::ifstream(file).rdbuf();
    return all.str();
  }

  test::ScratchFolder folder;
  std::filesystem::path file = folder.path() / "output.txt";
};

}  // namespace

TEST_CASE("short output is kept as it is") {
  const Kept kept;
  RerunOutput output(kept.open());
  REQUIRE(output.pipe().valid());
  CHECK(base::write_all(output.pipe().get(), "first\n"));
  CHECK(base::write_all(output.pipe().get(), "last\n"));
  output.finish();
  CHECK(kept.text() == "first\nlast\n");
}

TEST_CASE("of long output the first 15 MiB and the last one are kept, and the rest is counted") {
  const Kept kept;
  RerunOutput output(kept.open());
  const std::string block(1u << 20, 'x');
  CHECK(base::write_all(output.pipe().get(), "first"));
  for (int i = 0; i < 40; ++i) CHECK(base::write_all(output.pipe().get(), block));
  CHECK(base::write_all(output.pipe().get(), "last"));
  output.finish();
  const std::string text = kept.text();
  CHECK(text.starts_with("first"));
  CHECK(text.ends_with("last"));
  // 40 MiB and 9 bytes were written, and 16 MiB were kept.
  const std::string note = "\n[cudadiag: 25165833 bytes more were written here and dropped]\n";
  CHECK(text.find(note) == RerunOutput::kFirst);
  CHECK(text.size() == (16u << 20) + note.size());
}

TEST_CASE("the end is stored although a process that was not killed still has the pipe open and writes") {
  const Kept kept;
  RerunOutput output(kept.open());
  const base::FileDescriptor outlives(::fcntl(output.pipe().get(), F_DUPFD_CLOEXEC, 3));
  CHECK(base::write_all(outlives.get(), "said before the end"));
  output.close_pipe();
  output.finish();
  CHECK(kept.text() == "said before the end");
}

TEST_CASE("all output is shown, however long it is, and the descriptor that shows it keeps its modes and position") {
  const Kept kept;
  const base::FileDescriptor shown = kept.open();
  REQUIRE(base::write_all(shown.get(), "before "));
  const int modes = ::fcntl(shown.get(), F_GETFL);
  RerunOutput output(shown.get());
  REQUIRE(output.pipe().valid());
  const std::string block(1u << 20, 'x');
  for (int i = 0; i < 20; ++i) CHECK(base::write_all(output.pipe().get(), block));
  CHECK(::ftruncate(output.pipe().get(), 0) != 0);
  CHECK(::fcntl(output.pipe().get(), F_SETFL, O_NONBLOCK) == 0);
  output.finish();
  CHECK(::fcntl(shown.get(), F_GETFL) == modes);
  CHECK(base::write_all(shown.get(), " after"));
  const std::string text = kept.text();
  CHECK(text.size() == (20u << 20) + 13);
  CHECK(text.starts_with("before xx"));
  CHECK(text.ends_with("xx after"));
}

TEST_CASE("output that nobody reads is dropped when the rerun has ended") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const base::FileDescriptor unread(ends[0]), full(ends[1]);
  RerunOutput output(full.get(), std::chrono::milliseconds(200));
  CHECK((::fcntl(full.get(), F_GETFL) & O_NONBLOCK) == 0);
  const std::string block(80u << 10, 'x');  // more than this pipe holds
  CHECK(base::write_all(output.pipe().get(), block));
  output.finish();
}

TEST_CASE("a rerun does not wait for a file that takes nothing more") {
  RerunOutput output(base::FileDescriptor(::open("/dev/full", O_WRONLY | O_CLOEXEC)));
  const std::string block(1u << 20, 'x');  // more than the pipe holds
  CHECK(base::write_all(output.pipe().get(), block));
  output.finish();
}
