#include <doctest/doctest.h>

#include "record/calls/call_rules.h"

using cudadiag::record::only_asks;

TEST_CASE("calls that only query get no callback") {
  for (const char* name : {"cuDeviceGetAttribute", "cudaGetDevice", "cudaPeekAtLastError", "cudaGetLastError",
                           "__cudaPushCallConfiguration", "cuThreadExchangeStreamCaptureMode", "cuCtxGetCurrent",
                           "cuMemGetAddressRange"}) {
    CAPTURE(name);
    CHECK(only_asks(name));
  }
}

TEST_CASE("calls that do work, and queries that can fail or change something, are watched") {
  for (const char* name :
       {"cuLaunchKernel", "cudaMemcpyAsync", "cuModuleGetFunction", "cuLibraryGetKernel", "cuStreamGetCaptureInfo_v2",
        "cuMemGetInfo_v2", "cuIpcGetEventHandle", "cudaFuncGetAttributes", "cuIpcGetMemHandle", "cuDeviceGet"}) {
    CAPTURE(name);
    CHECK_FALSE(only_asks(name));
  }
}
