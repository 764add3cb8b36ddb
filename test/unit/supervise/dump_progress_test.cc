#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include "supervise/reruns/gpu_dumps.h"
#include "unit/scratch_folder.h"

using namespace cudadiag;

namespace {

struct Output {
  void write(const std::string& text) { std::ofstream(file, std::ios::app) << text; }

  test::ScratchFolder folder;
  std::filesystem::path file = folder.path() / "output.txt";
  supervise::DumpProgress progress{file};
};

}  // namespace

TEST_CASE("a dump progresses while the driver logs messages about it") {
  Output output;
  CHECK_FALSE(output.progress.moves());  // no output yet
  output.write("step 41\n");
  CHECK_FALSE(output.progress.moves());
  output.write("[11:55:17.029149] coredump: SM 32/132 has finished state collection\n");
  CHECK(output.progress.moves());
  CHECK_FALSE(output.progress.moves());  // no new output since the last check
  output.write("[11:55:17.499905] coredump: SM 33/132 has finished state collection\n");
  CHECK(output.progress.moves());
}

TEST_CASE("a program that keeps printing is not a sign of progress") {
  Output output;
  output.write("[11:55:17.029149] coredump: SM 32/132 has finished state collection\nstep 42\n");
  CHECK_FALSE(output.progress.moves());
}
