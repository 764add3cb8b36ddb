#include <doctest/doctest.h>

#include "replay/launch_folder.h"
#include "unit/replay/sample_launch.h"

using namespace cudadiag;
using namespace cudadiag::replay;

TEST_CASE("the README gives the kernel, the line that issued it and any missing data") {
  const std::string text = readme_of(test::sample_launch());
  for (const char* part : {"scale(float*, float)", "/home/a/scale.cu:19", "executes the device code",
                           "5128 bytes saved", "1047552 bytes missing", "NVIDIA H200", "launch attribute 7"}) {
    CAPTURE(part);
    CHECK(text.find(part) != text.npos);
  }
}

TEST_CASE("no name in a launch can end a string literal or a line of the program") {
  SavedLaunch launch = test::sample_launch();
  launch.kernel = "a\"; system(\"x\"); //\n#include \\";
  launch.blocks[3].variable = launch.kernel;
  const std::string text = source_of(launch);
  CHECK(text.find("system(") == text.npos);
  CHECK(text.find("a\\042\\073\\040system\\050\\042x") != text.npos);
}

TEST_CASE("the program contains the launch's numbers") {
  const std::string text = source_of(test::sample_launch());
  CHECK(text.find("grid[] = {4, 2, 1}") != text.npos);
  CHECK(text.find("shared_bytes = 1024") != text.npos);
  CHECK(text.find("{0x7f0000200000, 1048576, false, nullptr, \"memory-1\", 512, 1024, 0}") != text.npos);
  // Memory that no pointer refers to is left out.
  CHECK(text.find("0x7f0000400000") == text.npos);
  CHECK(text.find("@tables@") == text.npos);
}
