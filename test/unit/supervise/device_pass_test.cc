#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "supervise/reruns/gpu_dumps.h"
#include "unit/scratch_folder.h"

namespace cudadiag::supervise {
namespace {

std::string value_of(const std::vector<launch::Variable>& variables, const std::string& name) {
  for (const launch::Variable& variable : variables) {
    if (variable.name == name) return variable.value;
  }
  return "";
}

TEST_CASE("only device exceptions leave a dump") {
  for (const std::uint32_t code : {700u, 710u, 714u, 719u}) CHECK(wire::cuda::has(code, wire::cuda::leaves_dump));
  for (const std::uint32_t code : {0u, 2u, 701u, 702u, 713u, 720u, 999u})
    CHECK_FALSE(wire::cuda::has(code, wire::cuda::leaves_dump));
}

TEST_CASE("a small dump is requested by the variables of the driver's version") {
  const auto newer = dump_variables("/s/device", "13.0", true), older = dump_variables("/s/device", "12.4", true);
  CHECK(value_of(newer, "CUDA_COREDUMP_GENERATION_FLAGS").find("skip_global_memory") != std::string::npos);
  CHECK(value_of(newer, "CUDA_ENABLE_LIGHTWEIGHT_COREDUMP").empty());
  CHECK(value_of(older, "CUDA_COREDUMP_GENERATION_FLAGS").empty());
  CHECK(value_of(older, "CUDA_ENABLE_LIGHTWEIGHT_COREDUMP") == "1");
  CHECK(value_of(newer, "CUDA_COREDUMP_FILE") == "/s/device/%p.gpucore");
}

TEST_CASE("the user's own path for dumps is kept, unless the rerun is isolated") {
  const test::ScratchFolder theirs, ours;
  ::setenv("CUDA_COREDUMP_FILE", (theirs.path() / "core_%h_%p").c_str(), 1);
  CHECK(value_of(dump_variables(ours.path(), "13.0", false), "CUDA_COREDUMP_FILE").empty());
  CHECK_FALSE(value_of(dump_variables(ours.path(), "13.0", true), "CUDA_COREDUMP_FILE").empty());
  theirs.file("other", "x");
  CHECK(collect_dump(ours.path(), "/", 0).empty());
  theirs.file("core_host_4711", "dump");
  CHECK(collect_dump(ours.path(), "/", 0) == "dump.gpucore");
  CHECK(std::filesystem::file_size(ours.path() / "dump.gpucore") == 4);
  // A dump that already existed was written by another run.
  std::filesystem::remove(ours.path() / "dump.gpucore");
  CHECK(collect_dump(ours.path(), "/", INT64_MAX).empty());
  ::unsetenv("CUDA_COREDUMP_FILE");
}

TEST_CASE("an empty dump counts as not written") {
  const test::ScratchFolder folder;
  folder.file("4711.gpucore");
  folder.file("output.txt", "text");
  CHECK(find_dump(folder.path()).empty());
  folder.file("4712.gpucore", "dump");
  CHECK(find_dump(folder.path()) == "4712.gpucore");
}

}  // namespace
}  // namespace cudadiag::supervise
