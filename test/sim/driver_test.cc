// Tests start-up, calls that fail at once, and the data that the simulated CUPTI passes to callbacks.
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstring>

#include "in_child.h"

extern "C" void __cudaRegisterFunction(void**, const char*, char*, const char*, int, void*, void*, void*, void*, int*);

TEST_CASE("cuInit fails if the plan is invalid") {
  const auto start = [] { return cuInit(0); };
  CHECK(in_child<CUresult>("fault kernel", start) == CUDA_ERROR_INVALID_VALUE);
  CHECK(in_child<CUresult>("fault kernel=a nth=0", start) == CUDA_ERROR_INVALID_VALUE);
  CHECK(in_child<CUresult>("devices=0", start) == CUDA_ERROR_NO_DEVICE);
  CHECK(in_child<CUresult>("fault kernel=a nth=2 code=700; devices=2", start) == CUDA_SUCCESS);
}

TEST_CASE("the injected library is called inside cuInit and can use the driver") {
  const bool saw = in_child<bool>("", [] {
    setenv("CUDA_INJECTION64_PATH", INJECTED_LIBRARY, 1);
    cuInit(0);
    const char* text = std::getenv("INJECTED_TOOL_SAW");
    return text && std::strcmp(text, "one device") == 0;
  });
  CHECK(saw);
}

TEST_CASE("a forked child cannot use its parent's driver") {
  const auto result = in_child<CUresult>("", [] {
    cuInit(0);
    int ends[2];
    if (pipe(ends) != 0) return CUDA_ERROR_UNKNOWN;
    if (fork() == 0) {
      int count = 0;
      const CUresult refused = cuDeviceGetCount(&count);
      _exit(write(ends[1], &refused, sizeof refused) > 0 ? 0 : 1);
    }
    CUresult refused = CUDA_ERROR_UNKNOWN;
    return read(ends[0], &refused, sizeof refused) > 0 ? refused : CUDA_ERROR_UNKNOWN;
  });
  CHECK(result == CUDA_ERROR_NOT_INITIALIZED);
}

TEST_CASE("impossible launches fail at the call") {
  struct Found {
    CUresult block, grid, shared, fits;
    cudaError_t runtime, last, cleared;
  };
  const Found found = in_child<Found>("", [] {
    Rig rig;
    CUfunction fill = rig.kernel("fill");
    const auto launch = [&](unsigned int grid, unsigned int block, unsigned int shared) {
      return cuLaunchKernel(fill, grid, 1, 1, block, 1, 1, shared, nullptr, nullptr, nullptr);
    };
    Found seen{launch(1, 2048, 0), launch(0, 32, 0), launch(1, 32, 228 << 10), launch(1, 1024, 227 << 10), {}, {}, {}};
    char kernel[] = "fill";
    __cudaRegisterFunction(nullptr, kernel, nullptr, kernel, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    seen.runtime = cudaLaunchKernel(kernel, dim3(1), dim3(2048), nullptr, 0, nullptr);
    seen.last = cudaGetLastError();
    seen.cleared = cudaGetLastError();
    return seen;
  });
  CHECK(found.block == CUDA_ERROR_INVALID_VALUE);
  CHECK(found.grid == CUDA_ERROR_INVALID_VALUE);
  CHECK(found.shared == CUDA_ERROR_INVALID_VALUE);
  CHECK(found.fits == CUDA_SUCCESS);
  CHECK(found.runtime == cudaErrorInvalidValue);
  CHECK(found.last == cudaErrorInvalidValue);
  CHECK(found.cleared == cudaSuccess);
}

TEST_CASE("the plain name of the stream write is the deprecated version; cuGetProcAddress returns the new one") {
  struct Found {
    CUresult by_name;
    bool second_version, per_thread;
  };
  const Found found = in_child<Found>("", [] {
    Rig rig;
    using Write = CUresult (*)(CUstream, CUdeviceptr, unsigned int, unsigned int);
    const auto old = reinterpret_cast<Write>(dlsym(RTLD_DEFAULT, "cuStreamWriteValue32"));
    void* plain = nullptr;
    void* per_thread = nullptr;
    cuGetProcAddress("cuStreamWriteValue32", &plain, 13000, CU_GET_PROC_ADDRESS_DEFAULT, nullptr);
    cuGetProcAddress("cuStreamWriteValue32", &per_thread, 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
                     nullptr);
    return Found{old(rig.streams[0], reinterpret_cast<CUdeviceptr>(rig.slots), 1, 0),
                 plain == dlsym(RTLD_DEFAULT, "cuStreamWriteValue32_v2"),
                 per_thread == dlsym(RTLD_DEFAULT, "cuStreamWriteValue32_v2_ptsz")};
  });
  CHECK(found.by_name == CUDA_ERROR_NOT_SUPPORTED);
  CHECK(found.second_version);
  CHECK(found.per_thread);
}

namespace {

struct Seen {
  int enters, exits, other_calls, contexts;
  bool symbol, parameters, result, correlated;
  std::uint32_t runtime_correlation;
};

void watch(void* user_data, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  auto& seen = *static_cast<Seen*>(user_data);
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
    ++seen.contexts;
    return;
  }
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
    seen.runtime_correlation = call.correlationId;
  } else if (id != CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel) {
    ++seen.other_calls;
  } else if (call.callbackSite == CUPTI_API_ENTER) {
    ++seen.enters;
    *call.correlationData = 77;
    seen.symbol = std::strcmp(call.symbolName, "scale") == 0;
    seen.parameters = static_cast<const cuLaunchKernel_params*>(call.functionParams)->blockDimX == 64;
    seen.correlated = call.correlationId == seen.runtime_correlation;
  } else {
    ++seen.exits;
    seen.result = *static_cast<CUresult*>(call.functionReturnValue) == CUDA_SUCCESS && *call.correlationData == 77;
  }
}

}  // namespace

TEST_CASE("callbacks carry the real ids and parameters, only where enabled, and one id through both layers") {
  const Seen seen = in_child<Seen>("", [] {
    Seen found{};
    CUpti_SubscriberHandle subscriber = nullptr;
    cuInit(0);
    cuptiSubscribe(&subscriber, watch, &found);
    cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
    cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
    cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
    const char* stub = "stub";
    __cudaRegisterFunction(nullptr, stub, nullptr, "scale", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    cudaLaunchKernel(stub, dim3(2), dim3(64), nullptr, 0, nullptr);
    cudaDeviceSynchronize();
    return found;
  });
  CHECK(seen.enters == 1);
  CHECK(seen.exits == 1);
  CHECK(seen.other_calls == 0);
  CHECK(seen.contexts == 1);
  CHECK(seen.symbol);
  CHECK(seen.parameters);
  CHECK(seen.result);
  CHECK(seen.correlated);
}

TEST_CASE("there is one subscriber, and a second one gets the first one's name") {
  struct Found {
    CUptiResult first, second;
    char name[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN];
  };
  const auto subscribe_twice = [] {
    Found found{};
    cuInit(0);
    CUpti_SubscriberHandle subscriber = nullptr;
    CUpti_SubscriberParams ours{CUpti_SubscriberParams_STRUCT_SIZE, "first", nullptr, 0};
    CUpti_SubscriberParams theirs{CUpti_SubscriberParams_STRUCT_SIZE, "second", found.name, sizeof found.name};
    found.first = cuptiSubscribe_v2(&subscriber, watch, nullptr, &ours);
    found.second = cuptiSubscribe_v2(&subscriber, watch, nullptr, &theirs);
    return found;
  };
  const Found free = in_child<Found>("", subscribe_twice);
  CHECK(free.first == CUPTI_SUCCESS);
  CHECK(free.second == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  CHECK(std::strcmp(free.name, "first") == 0);
  const Found held = in_child<Found>("cupti=held", subscribe_twice);
  CHECK(held.first == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  CHECK(std::strcmp(held.name, "Simulated rival profiler") == 0);
  CHECK(in_child<Found>("cupti=too-new", subscribe_twice).first == CUPTI_ERROR_NOT_INITIALIZED);
}
