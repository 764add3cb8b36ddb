#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "replay/verdict.h"
#include "unit/scratch_folder.h"

using namespace cudadiag;
using namespace cudadiag::replay;

namespace {

SavedLaunch launch_of_two() {
  SavedLaunch launch;
  launch.blocks = {{0x1000, 64, MemoryKind::device, Reach::nothing},
                   {0x2000, 64, MemoryKind::device, Reach::parameter, Unsaved::no, Contents{"memory-1", 16, 4}},
                   {0x3000, 64, MemoryKind::device, Reach::parameter, Unsaved::no, Contents{"memory-2", 0, 4}}};
  return launch;
}

void fill(const std::filesystem::path& folder, const std::string& second, const std::string& third) {
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "memory-1") << second;
  std::ofstream(folder / "memory-2") << third;
}

}  // namespace

TEST_CASE("the first different byte has its block and offset") {
  const test::ScratchFolder scratch;
  fill(scratch.path() / "a", "abcd", "efgh");
  fill(scratch.path() / "b", "abxd", "xfgh");
  const auto found = compare_outputs(launch_of_two(), scratch.path() / "a", scratch.path() / "b");
  REQUIRE(found);
  CHECK(found->compared == 8);
  CHECK(found->different == 2);
  REQUIRE(found->first);
  CHECK(found->first->block == 1);
  CHECK(found->first->offset == 18);
  CHECK(found->first->here == 'c');
  CHECK(found->first->there == 'x');
  const auto same = compare_outputs(launch_of_two(), scratch.path() / "a", scratch.path() / "a");
  CHECK((same && same->different == 0 && !same->first));
}

TEST_CASE("a missing or short file cannot be compared") {
  const test::ScratchFolder scratch;
  fill(scratch.path() / "a", "abcd", "efgh");
  fill(scratch.path() / "b", "abcd", "efg");
  CHECK(!compare_outputs(launch_of_two(), scratch.path() / "a", scratch.path() / "b"));
  CHECK(!compare_outputs(launch_of_two(), scratch.path() / "a", scratch.path() / "none"));
}
