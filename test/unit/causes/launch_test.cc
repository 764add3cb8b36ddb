#include <doctest/doctest.h>

#include "unit/causes/failed_case.h"

using namespace cudadiag::causes;

TEST_CASE("blocks that are empty or too large") {
  for (const std::uint32_t code : {1u, 9u}) {
    CHECK(id_of(refused_launch(code, {1, 1, 1}, {2048, 1, 1})) == "block-too-large");
    CHECK(id_of(refused_launch(code, {1, 1, 1}, {1, 1, 65})) == "block-too-large");
    CHECK(id_of(refused_launch(code, {1, 1, 1}, {1024, 1, 1})) == "none");
    CHECK(id_of(refused_launch(code, {1, 1, 1}, {0, 1, 1})) == "empty-block");
  }
  CHECK(text_of(refused_launch(1, {1, 1, 1}, {64, 32, 1})) ==
        "a block of 64,32,1 (2048 threads) is larger than any GPU supports: at most 1024 threads, and 1024,1024,64 in "
        "x,y,z");
  CHECK(id_of(refused_launch(400, {1, 1, 1}, {2048, 1, 1})) != "block-too-large");
}

TEST_CASE("a block whose number of threads overflows is not empty") {
  const Failed failed = refused_launch(1, {1, 1, 1}, {0x80000000u, 0x80000000u, 4});
  CHECK(text_of(failed) ==
        "a block of 2147483648,2147483648,4 is larger than any GPU supports: at most 1024 threads, and 1024,1024,64 in "
        "x,y,z");
  CHECK(id_of(refused_launch(1, {0x80000000u, 0x80000000u, 4}, {32, 1, 1})) == "grid-too-large");
}

TEST_CASE("grids that are empty or too large") {
  CHECK(id_of(refused_launch(9, {1, 65536, 1}, {32, 1, 1})) == "grid-too-large");
  CHECK(id_of(refused_launch(9, {65536, 1, 1}, {32, 1, 1})) == "none");
  CHECK(id_of(refused_launch(9, {65536, 65535, 65535}, {32, 1, 1})) == "none");
  CHECK(id_of(refused_launch(9, {0, 1, 1}, {32, 1, 1})) == "empty-grid");
  CHECK(id_of(refused_call(9, "cudaMemcpy")) == "none");  // only a launch has dimensions
}

TEST_CASE("launches that request too much shared memory") {
  CHECK(explain(refused_launch(1, {1, 1, 1}, {32, 1, 1}, 232449))->certain);
  const auto cause = explain(refused_launch(1, {1, 1, 1}, {32, 1, 1}, 65536));
  REQUIRE(cause);
  CHECK(cause->id == "shared-memory-too-large");
  CHECK(!cause->certain);
  CHECK(id_of(refused_launch(1, {1, 1, 1}, {32, 1, 1}, 49152)) == "none");
}

TEST_CASE("launches that exceed the limits of their kernel") {
  Failed failed = refused_launch(1, {8, 1, 1}, {512, 1, 1});
  CHECK(id_of(failed) == "none");
  failed.finding.refused->most_threads = 512;
  CHECK(id_of(failed) == "none");
  failed.finding.refused->most_threads = 256;
  CHECK(text_of(failed) ==
        "a block of 512,1,1 has 512 threads, and this kernel allows at most 256, because of its __launch_bounds__ or "
        "its registers");
  Failed shared = refused_launch(1, {1, 1, 1}, {32, 1, 1}, 65536);
  shared.finding.refused->most_shared = 49152;
  CHECK(explain(shared)->certain);
  CHECK(text_of(shared) ==
        "the launch requests 65536 bytes of dynamic shared memory, and the kernel has opted in to at most 49152");
  shared.finding.refused->most_shared = 65536;
  CHECK(!explain(shared)->certain);
}

TEST_CASE("too many registers") {
  const auto cause = explain(refused_launch(701, {1, 1, 1}, {1024, 1, 1}));
  REQUIRE(cause);
  CHECK(cause->id == "too-many-registers");
  CHECK(!cause->certain);
  CHECK(cause->text.find("64 registers") != std::string::npos);
  CHECK(id_of(refused_launch(701, {1, 1, 1}, {1024, 1, 1}, 60000)) == "shared-memory-too-large");
  CHECK(id_of(refused_call(701, "cudaMalloc")) == "none");
  CHECK(id_of(refused_launch(701, {1, 1, 1}, {32, 1, 1})) == "none");  // no kernel uses more than 255 registers per
                                                                       // thread
}

TEST_CASE("cooperative launches and clusters") {
  CHECK(text_of(refused_launch(720, {4096, 2, 1}, {256, 1, 1})).find("8192 blocks of 256 threads") !=
        std::string::npos);
  CHECK(id_of(refused_call(720, "cudaMalloc")) == "none");
  CHECK(id_of(refused_launch(912, {3, 1, 1}, {32, 1, 1})) == "invalid-cluster");
  CHECK(id_of(refused_launch(913, {3, 1, 1}, {32, 1, 1})) == "none");
  Failed failed = refused_launch(912, {10, 1, 1}, {32, 1, 1});
  failed.finding.launch->cluster = {4, 1, 1};
  CHECK(text_of(failed) == "the grid of 10,1,1 blocks is not a multiple of the cluster of 4,1,1 blocks");
  CHECK(explain(failed)->certain);
  failed.finding.launch->cluster = {5, 1, 1};
  CHECK(id_of(failed) == "invalid-cluster");
}
