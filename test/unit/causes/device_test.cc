#include <doctest/doctest.h>

#include <utility>

#include "unit/causes/failed_case.h"

using namespace cudadiag::causes;

TEST_CASE("wrong device numbers and hidden devices") {
  Failed failed = refused_call(101, "cudaSetDevice");
  CHECK(text_of(failed) == "this process has no device with the number given to cudaSetDevice");
  failed.environment = {{"CUDA_VISIBLE_DEVICES", "0,1"}};
  CHECK(text_of(failed).find("CUDA_VISIBLE_DEVICES=0,1") != std::string::npos);

  failed.finding.code = 100;
  CHECK(id_of(failed) == "no-device");
  CHECK(!explain(failed)->certain);
  for (const char* hiding : {"", "-1"}) {
    failed.environment = {{"CUDA_VISIBLE_DEVICES", hiding}};
    CHECK(id_of(failed) == "devices-hidden");
  }
  failed.environment.clear();
  CHECK(id_of(failed) == "no-device");
}

TEST_CASE("a wrong device is certain only for calls that just choose it") {
  CHECK(explain(refused_call(101, "cudaSetDevice"))->certain);
  CHECK(explain(refused_call(101, "cuDeviceGet"))->certain);
  Failed failed = refused_call(101, "cudaDeviceGetP2PAttribute");
  CHECK(id_of(failed) == "invalid-device");
  CHECK(!explain(failed)->certain);
  failed.environment = {{"CUDA_VISIBLE_DEVICES", "0,1"}};
  CHECK(text_of(failed).find("CUDA_VISIBLE_DEVICES=0,1") != std::string::npos);
}

// The comments in cuda.h give further reasons for these errors.
TEST_CASE("errors for which only the commonest cause is given") {
  for (const std::uint32_t code : {46u, 222u, 802u}) {
    CAPTURE(code);
    CHECK_FALSE(explain(refused_call(code, "cuInit"))->certain);
  }
}

// cudaMemPrefetchAsync also returns error 101 for device 0 if the GPU lacks concurrentManagedAccess.
TEST_CASE("a device that does not support a prefetch") {
  for (const char* call : {"cudaMemPrefetchAsync", "cuMemPrefetchAsync_v2", "cudaMemAdvise"}) {
    const auto cause = explain(refused_call(101, call));
    REQUIRE(cause);
    CHECK(cause->id == "invalid-device");
    CHECK_FALSE(cause->certain);
    CHECK(cause->text.find("page managed memory") != std::string::npos);
  }
}

TEST_CASE("a fork of a process that had used CUDA") {
  Failed failed = refused_call(3, "cudaSetDevice");
  CHECK(id_of(failed) == "none");  // the error code alone does not show that the process was forked
  failed.forked_from = 4711;
  CHECK(id_of(failed) == "cuda-after-fork");
  CHECK(text_of(failed).find("process 4711") != std::string::npos);
  failed.finding.code = 1;
  CHECK(id_of(failed) == "none");
}

TEST_CASE("code and drivers that do not match") {
  Failed failed = refused_call(209, "cudaLaunchKernel");
  CHECK(text_of(failed) == "the program contains no code for this GPU: it was built for other architectures");
  failed.report.gpus = {"NVIDIA H200"};
  CHECK(text_of(failed).find("(NVIDIA H200)") != std::string::npos);
  failed.finding.code = 98;
  CHECK(id_of(failed) == "kernel-not-in-module");
  CHECK(!explain(failed)->certain);
  failed.finding.code = 222;
  failed.report.driver = "550.54.15";
  CHECK(text_of(failed).find("550.54.15") != std::string::npos);
}

TEST_CASE("errors whose code is the cause") {
  const std::pair<std::uint32_t, const char*> wanted[] = {
      {13, "invalid-symbol"},    {34, "stub-library"},     {35, "driver-too-old"},        {36, "driver-too-old"},
      {46, "device-busy"},       {218, "invalid-ptx"},     {221, "no-ptx-compiler"},      {223, "no-ptx-compiler"},
      {802, "fabric-not-ready"}, {803, "driver-mismatch"}, {804, "compatibility-package"}};
  for (const auto& [code, id] : wanted) {
    CHECK(id_of(refused_call(code, "cudaMalloc")) == id);
    CHECK(id_of(gpu_error(code)) == "none");
  }
  CHECK(id_of(refused_call(500, "cuModuleGetFunction")) == "function-not-found");
  CHECK(id_of(refused_call(500, "cuGetProcAddress_v2")) == "none");  // libraries use this call to probe for functions
}
