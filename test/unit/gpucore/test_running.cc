#include <doctest/doctest.h>

#include "gpucore/core_file.h"
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

// Of an H200, asked for by its pipe. NVIDIA's debugger says of it: kernel spin, grid 4, (1,1,1) of (64,1,1), one warp
// at spin.cuh:8 with PC ...a60, the other one 16 bytes before.
TEST_CASE("a kernel that waits for time to pass") {
  const auto read = read_core(TEST_DATA "/gpucore/running.nvcudmp.gz");
  REQUIRE(std::holds_alternative<Testimony>(read));
  const auto& testimony = std::get<Testimony>(read);
  CHECK(!testimony.failure);
  CHECK(testimony.damaged == 0);
  REQUIRE(testimony.running.size() == 1);
  const RunningKernel& kernel = testimony.running[0];
  CHECK(kernel.kernel == "_Z4spinPiy");
  CHECK(kernel.grid_id == 4);
  CHECK(kernel.grid == Dim3{1, 1, 1});
  CHECK(kernel.block_dim == Dim3{64, 1, 1});
  CHECK(kernel.threads == 64);
  REQUIRE(kernel.places.size() == 2);
  for (const RunningPlace& place : kernel.places) {
    CHECK(place.threads == 32);
    REQUIRE(!place.place.lines.empty());
    CHECK(place.place.lines[0].file == "/tmp/cases/test/gpu/cuda/spin.cuh");
    CHECK(place.place.lines[0].line == 8);
  }
  CHECK(kernel.places[1].place.pc - kernel.places[0].place.pc == 0x10);
  CHECK(kernel.places[1].place.pc % 0x1000 == 0xa60);
  CHECK(kernel.places[1].thread == Dim3{32, 0, 0});
}

TEST_CASE("a stream that waits for a value has no kernel running") {
  const auto read = read_core(TEST_DATA "/gpucore/idle.nvcudmp.gz");
  REQUIRE(std::holds_alternative<Testimony>(read));
  CHECK(!std::get<Testimony>(read).failure);
  CHECK(std::get<Testimony>(read).running.empty());
}

TEST_CASE("where nothing runs, that is said") {
  Testimony testimony;
  testimony.devices = {"0: GPU"};
  CHECK(describe(testimony, "") ==
        std::vector<std::string>{"No exception: this dump was asked for, not caused by a failure",
                                 "Kernel  none was running", "Device  0: GPU"});
}
