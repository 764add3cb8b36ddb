#include <doctest/doctest.h>

#include "unit/causes/failed_case.h"

using namespace cudadiag::causes;

TEST_CASE("a failure that does not recur in a rerun that waits") {
  Failed failed = gpu_error(700);
  CHECK(id_of(failed) == "none");
  failed.vanished_when_serialised = true;
  CHECK(id_of(failed) == "missing-wait");
  CHECK(!explain(failed)->certain);
  CHECK(explain(failed)->fix[0] == "make the reading stream wait for the writing stream (cudaStreamWaitEvent)");
  failed.dialect.driver = true;
  CHECK(explain(failed)->fix[0] == "make the reading stream wait for the writing stream (cuStreamWaitEvent)");
  failed.finding.arguments = {pointer_argument("in", 0x5000, "freed")};
  CHECK(id_of(failed) == "use-after-free");
}

TEST_CASE("memory that was freed while the kernel was queued") {
  Failed failed = gpu_error(700);
  failed.vanished_when_serialised = true;
  failed.finding.launch->kernel = "total(float const*)";
  Access& access = failed.finding.access.emplace();
  access.parameter = 1;
  access.parameter_name = "x";
  access.allocation.emplace().bytes = 64 << 20;
  CHECK(id_of(failed) == "missing-wait");
  access.allocation->freed_later = diagnose::Location{.file = "buffer.cu", .function = "release", .line = 24};
  CHECK(
      text_of(failed).starts_with("total() reads memory through x (parameter 1): 64.0 MiB that were freed at "
                                  "buffer.cu:24, release, probably before the kernel had finished"));
  CHECK_FALSE(explain(failed)->certain);
  access.relation = Relation::past_end;
  access.distance = 4096;
  CHECK(id_of(failed) == "address-past-end");
  access.relation = Relation::unknown;
  failed.vanished_when_serialised = false;
  CHECK(id_of(failed) == "none");
}

TEST_CASE("a call that fails because an earlier one had failed") {
  Failed failed = refused_launch(400, {1, 1, 1}, {32, 1, 1});
  failed.finding.swallowed = "cuModuleGetFunction";
  CHECK(id_of(failed) == "after-failed-call");
  CHECK(explain(failed)->fix == std::vector<std::string>{"check what cuModuleGetFunction returns, and stop if it "
                                                         "fails"});
  failed.finding.code = 701;
  CHECK(id_of(failed) != "after-failed-call");
}

TEST_CASE("handles of another device or context") {
  CHECK(id_of(refused_call(400, "cudaEventRecord")) == "foreign-handle");
  CHECK(id_of(refused_call(400, "cudaEventElapsedTime")) == "event-without-time");
  CHECK(id_of(refused_launch(400, {1, 1, 1}, {32, 1, 1})) == "foreign-handle");
  CHECK(id_of(refused_call(400, "cudaDestroyTextureObject")) == "none");
  CHECK(id_of(refused_call(1, "cudaEventRecord")) == "none");
}

TEST_CASE("access between devices, and no context") {
  CHECK(id_of(refused_call(217, "cudaDeviceEnablePeerAccess")) == "peer-access-unsupported");
  CHECK(id_of(refused_call(704, "cudaDeviceEnablePeerAccess")) == "none");  // access is already enabled, which is
                                                                            // harmless
  CHECK(id_of(refused_call(201, "cuMemAlloc_v2")) == "no-context");
  CHECK(!explain(refused_call(201, "cuCtxSetCurrent"))->certain);  // the invalid context may be the argument
  CHECK(id_of(refused_call(202, "cuCtxPushCurrent")) == "none");
}

// This error means "trying to disable peer access which has not been enabled yet" (cuda.h). The suggested fix must not
// be to enable peer access.
TEST_CASE("disabling peer access that was not enabled") {
  const Failed failed = refused_call(705, "cudaDeviceDisablePeerAccess");
  CHECK(id_of(failed) == "peer-access-not-enabled");
  CHECK(text_of(failed).starts_with("cudaDeviceDisablePeerAccess disables access"));
  const auto cause = explain(failed);
  for (const std::string& step : cause->fix) CHECK(step.find("EnablePeerAccess(") == std::string::npos);
  CHECK(id_of(refused_call(705, "cudaMemcpyPeer")) == "none");
}

// The driver returns 201 for an own handle too, and says why.
TEST_CASE("a missing context is not blamed if the driver says something else") {
  Failed failed = refused_call(201, "cudaIpcOpenMemHandle");
  CHECK(id_of(failed) == "no-context");
  failed.finding.refused->explanation = "No CUDA context is current to the calling thread";
  CHECK(id_of(failed) == "no-context");
  failed.finding.refused->explanation = "Error opening locally created memHandle.";
  CHECK(id_of(failed) == "own-ipc-handle");
  failed.finding.refused->explanation = "something new";
  CHECK(id_of(failed) == "explained-by-driver");
  CHECK(text_of(failed) == "cudaIpcOpenMemHandle: something new");
}

TEST_CASE("an event that cannot be shared") {
  CHECK(id_of(refused_call(400, "cudaIpcGetEventHandle")) == "event-without-ipc-handle");
  CHECK(id_of(refused_call(400, "cudaStreamWaitEvent")) == "foreign-handle");
}

TEST_CASE("the runtime's error for a peer that cannot be reached") {
  for (const char* call : {"cudaDeviceEnablePeerAccess", "cuCtxEnablePeerAccess"}) {
    const auto cause = explain(refused_call(101, call));
    REQUIRE(cause);
    CHECK(cause->id == "peer-access-unsupported");
    CHECK_FALSE(cause->certain);
  }
}

TEST_CASE("collectives") {
  Failed failed = gpu_error(700, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
  CHECK(id_of(failed) == "collective");
  failed.finding.pid = 4711;
  failed.report.findings.emplace_back().pid = 4712;
  CHECK(id_of(failed) == "collective-after-peer");
  CHECK(text_of(failed).find("4712") != std::string::npos);
  failed.finding.launch->kernel = "scale(float*)";
  CHECK(id_of(failed) == "none");
}
