#include <doctest/doctest.h>

#include "gpucore/json.h"
#include "gpucore/running.h"
#include "gpucore/text.h"
#include "unit/gpucore/sample_dump.h"

using namespace cudadiag::gpucore;

namespace {

std::vector<RunningKernel> running(const std::string& file) {
  auto dump = Dump::read(Bytes(file.data(), file.size()));
  REQUIRE(dump);
  return running_kernels(*dump);
}

// As of a dump that was asked for: what is running, and no failure.
Testimony asked_for() {
  const std::string file = sample_dump().bytes();
  Testimony testimony;
  testimony.running = running(file);
  return testimony;
}

}  // namespace

TEST_CASE("a kernel that runs is told with where its threads stand") {
  const auto kernels = running(sample_dump().bytes());
  REQUIRE(kernels.size() == 1);
  const RunningKernel& kernel = kernels[0];
  CHECK(kernel.kernel == "_Z6kernelPi");
  CHECK(kernel.grid == Dim3{2, 1, 1});
  CHECK(kernel.grid_id == 7);
  CHECK(kernel.threads == 2);
  CHECK(kernel.blocks == 1);
  REQUIRE(!kernel.places.empty());
  CHECK(kernel.places[0].block == Dim3{1, 0, 0});
  CHECK(kernel.places[0].thread == Dim3{0, 0, 0});
  CHECK(!kernel.places[0].place.function.empty());
}

TEST_CASE("a dump that was asked for says what was running") {
  const Testimony testimony = asked_for();
  const auto lines = describe(testimony, "");
  REQUIRE(lines.size() >= 4);
  CHECK(lines[0] == "No exception: this dump was asked for, not caused by a failure");
  CHECK(lines[1] == "Kernel  kernel(int*)  grid 2,1,1  block 2,1,1  grid id 7  launched by host thread 4711");
  CHECK(lines[2] == "Running 2 threads of 1 block");
  CHECK(lines[3].starts_with("Stands  "));
  CHECK(write_json(testimony, "", nullptr).find("\"kernel\": \"kernel(int*)\"") != std::string::npos);
}

TEST_CASE("where nothing runs, that is said") {
  CHECK(describe(Testimony{}, "") ==
        std::vector<std::string>{"No exception: this dump was asked for, not caused by a failure",
                                 "Kernel  none was running"});
}
