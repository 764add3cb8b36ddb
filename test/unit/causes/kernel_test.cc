#include <doctest/doctest.h>

#include "unit/causes/failed_case.h"

using namespace cudadiag::causes;

TEST_CASE("a kernel's own assertion is the cause") {
  Failed failed = gpu_error(710);
  CHECK(id_of(failed) == "none");  // the condition of the assertion is unknown
  failed.finding.device->message = "count[i] < capacity";
  failed.finding.device->file = "/home/u/hash.cu";
  CHECK(text_of(failed) == "the kernel's own assertion failed: `count[i] < capacity`");
  failed.finding.device->function = "insert";
  CHECK(text_of(failed).ends_with("in insert"));
  CHECK(explain(failed)->certain);
}

TEST_CASE("the exception shows a stack overflow or a trap, whatever the code") {
  for (const char* exception : {"Warp Hardware Stack Overflow", "Lane User Stack Overflow"}) {
    Failed failed = gpu_error(700);
    failed.finding.device->exception = exception;
    CHECK(id_of(failed) == "stack-overflow");
  }
  Failed failed = gpu_error(719);
  failed.finding.device->exception = "Trap Instruction";
  CHECK(id_of(failed) == "trap");
  failed.finding.device->exception = "Warp Illegal Address";
  CHECK(id_of(failed) == "none");
}

TEST_CASE("a stack canary shows a write over the stack, not a small stack") {
  Failed failed = gpu_error(719);
  failed.finding.device->exception = "Warp Stack Canary";
  const auto cause = explain(failed);
  REQUIRE(cause);
  CHECK(cause->id == "stack-overwritten");
  CHECK_FALSE(cause->certain);
  for (const std::string& step : cause->fix) CHECK(step.find("StackSize") == std::string::npos);
}

TEST_CASE("shared memory of other blocks of a cluster") {
  Failed failed = gpu_error(719);
  failed.finding.device.emplace().exception = "Cluster Block Not Present";
  CHECK(id_of(failed) == "cluster-block-ended");
  failed.finding.device->exception = "Cluster Out-of-range Address";
  CHECK(id_of(failed) == "shared-out-of-range");
  failed.finding.device->exception = "Cluster Poison";
  CHECK(id_of(failed) == "none");
}

TEST_CASE("causes from the code alone are mostly uncertain") {
  CHECK(id_of(gpu_error(714)) == "hardware-stack-error");
  CHECK(id_of(gpu_error(715)) == "invalid-code");
  CHECK(id_of(gpu_error(717)) == "invalid-address-space");
  // On an H200, four programs got error 717, and none of them had mixed up memory spaces.
  CHECK(explain(gpu_error(717))->fix.front() ==
        "check the indices, strides and sizes that this kernel computes addresses from");
  CHECK(id_of(gpu_error(721)) == "tensor-memory-leak");
  CHECK(!explain(gpu_error(715))->certain);
  CHECK(id_of(gpu_error(719)) == "none");
}
