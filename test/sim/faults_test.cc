// The simulated faults behave as measured on hardware.
#include <fstream>
#include <string>
#include <thread>

#include "in_child.h"

TEST_CASE("the marker after the last kernel before the fault is the last one written") {
  struct Found {
    unsigned int slot;
    CUresult reported, again, elsewhere, unchecked, alloc;
  };
  const Found found = in_child<Found>("fault kernel=scale nth=3 code=700", [] {
    Rig rig;
    Found seen{};
    rig.launch_marked("scale", 0, 10);
    seen.reported = cuStreamSynchronize(rig.streams[0]);
    seen.slot = rig.slots[0];
    seen.again = cuStreamQuery(rig.streams[1]);
    std::thread([&] {
      cuCtxSetCurrent(rig.context);
      seen.elsewhere = cuCtxSynchronize();
    }).join();
    CUdeviceptr memory = 0;
    seen.alloc = cuMemAlloc(&memory, 64);
    CUcontext current = nullptr;
    seen.unchecked = cuCtxGetCurrent(&current);
    return seen;
  });
  CHECK(found.slot == 2);
  CHECK(found.reported == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(found.again == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(found.elsewhere == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(found.alloc == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(found.unchecked == CUDA_SUCCESS);
}

TEST_CASE("a healthy stream stops when the bad one fails") {
  struct Found {
    unsigned int bad, healthy;
    CUresult reported;
  };
  const Found found = in_child<Found>("fault kernel=scale nth=3 code=710 after=stream:2:3", [] {
    Rig rig;
    rig.launch_marked("fill", 1, 5);
    rig.launch_marked("scale", 0, 5);
    const CUresult reported = cuCtxSynchronize();
    return Found{rig.slots[0], rig.slots[1], reported};
  });
  CHECK(found.bad == 2);
  CHECK(found.healthy == 3);
  CHECK(found.reported == CUDA_ERROR_ASSERT);
}

TEST_CASE("a plan can choose an operation of any kind by its size, and the driver reports which one failed") {
  struct Found {
    unsigned int slot;
    CUresult reported;
    char told[64];
  };
  const Found found = in_child<Found>("fault size=64 nth=3 code=719", [] {
    char path[] = "/tmp/cudadiag-sim-faults-XXXXXX";
    close(mkstemp(path));
    setenv("CUDADIAG_SIM_FAULTS", path, 1);
    Rig rig;
    CUdeviceptr memory = 0;
    cuMemAlloc(&memory, 64);
    const auto launch = [&](unsigned int blocks) {
      cuLaunchKernel(rig.kernel("scale"), blocks, 1, 1, 32, 1, 1, 0, rig.streams[0], nullptr, nullptr);
    };
    launch(64);
    launch(65);
    cuMemsetD8Async(memory, 0, 64, rig.streams[0]);
    rig.mark(0, 1);
    launch(64);
    rig.mark(0, 2);
    Found seen{};
    seen.reported = cuStreamSynchronize(rig.streams[0]);
    seen.slot = rig.slots[0];
    std::ifstream(path).getline(seen.told, sizeof seen.told);
    unlink(path);
    return seen;
  });
  CHECK(found.reported == CUDA_ERROR_LAUNCH_FAILED);
  CHECK(found.slot == 1);
  CHECK(std::string(found.told) == "kernel size=64 nth=3 stream=1");
}

TEST_CASE("a fault that no call has asked about stops all streams, and calls succeed") {
  struct Found {
    unsigned int bad, late;
    CUresult launched, reported;
  };
  const Found found = in_child<Found>("fault kernel=scale nth=1 code=700 when=unseen", [] {
    char path[] = "/tmp/cudadiag-sim-faults-XXXXXX";
    close(mkstemp(path));
    setenv("CUDADIAG_SIM_FAULTS", path, 1);
    Rig rig;
    rig.launch_marked("scale", 0, 1);
    while (std::ifstream(path).peek() == EOF) sched_yield();
    unlink(path);
    Found seen{};
    seen.launched = rig.launch("fill", 2);
    rig.mark(2, 1);
    seen.reported = cuStreamSynchronize(rig.streams[2]);
    seen.bad = rig.slots[0], seen.late = rig.slots[2];
    return seen;
  });
  CHECK(found.launched == CUDA_SUCCESS);
  CHECK(found.reported == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(found.bad == 0);
  CHECK(found.late == 0);
}

TEST_CASE("an event of a blocking stream waits for the legacy stream, and vice versa") {
  for (const bool legacy : {false, true}) {
    setenv("RECORDED_IN", legacy ? "legacy" : "blocking", 1);
    const auto asked = in_child<CUresult>("hold kernel=slow until=stream:1:1", [] {
      Rig rig;
      const bool in_legacy = std::string(getenv("RECORDED_IN")) == "legacy";
      CUstream blocking = nullptr;
      CUevent event = nullptr;
      cuStreamCreate(&blocking, CU_STREAM_DEFAULT);
      cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
      cuLaunchKernel(rig.kernel("slow"), 1, 1, 1, 1, 1, 1, 0, in_legacy ? blocking : nullptr, nullptr, nullptr);
      cuEventRecord(event, in_legacy ? nullptr : blocking);
      const CUresult result = cuEventQuery(event);
      rig.launch("release", 0);
      cuCtxSynchronize();
      return result;
    });
    CHECK(asked == CUDA_ERROR_NOT_READY);
  }
}

TEST_CASE("shuffled streams each keep their order, and everything that can finish does") {
  struct Found {
    unsigned int bad, healthy, behind;
    CUresult reported;
  };
  const Found found = in_child<Found>("shuffle=7; fault kernel=scale nth=3 code=700", [] {
    Rig rig;
    CUevent event = nullptr;
    cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
    rig.launch_marked("fill", 1, 50);
    cuEventRecord(event, rig.streams[1]);
    rig.launch_marked("scale", 0, 5);
    cuStreamWaitEvent(rig.streams[2], event, 0);
    rig.launch_marked("fill", 2, 50);
    const CUresult reported = cuCtxSynchronize();
    return Found{rig.slots[0], rig.slots[1], rig.slots[2], reported};
  });
  CHECK(found.reported == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(found.bad == 2);
  CHECK(found.healthy == 50);
  CHECK(found.behind == 50);
}

TEST_CASE("work that waits for an event after the fault never runs") {
  const auto slot = in_child<unsigned int>("fault kernel=scale nth=1 code=700", [] {
    Rig rig;
    CUevent event = nullptr;
    cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
    rig.launch("scale", 0);
    cuEventRecord(event, rig.streams[0]);
    rig.launch_marked("fill", 1, 1);
    cuStreamWaitEvent(rig.streams[1], event, 0);
    rig.launch("fill", 1);
    rig.mark(1, 2);
    cuCtxSynchronize();
    return rig.slots[1];
  });
  CHECK(slot == 1);
}

TEST_CASE("a fault that no call has asked about has not happened yet, unless the plan says now") {
  const auto later = [] {
    Rig rig;
    rig.launch("scale", 0);
    CUresult result = CUDA_SUCCESS;
    for (int i = 0; i < 1000 && result == CUDA_SUCCESS; ++i) result = rig.launch("fill", 1);
    return result;
  };
  CHECK(in_child<CUresult>("fault kernel=scale code=700", later) == CUDA_SUCCESS);
  const auto now = in_child<CUresult>("fault kernel=scale code=700 when=now", [] {
    Rig rig;
    rig.launch("scale", 0);
    CUresult result = CUDA_SUCCESS;
    while (result == CUDA_SUCCESS) result = rig.launch("fill", 1);
    return result;
  });
  CHECK(now == CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_CASE("a query made while a fault is held back does not make it happen later") {
  const auto after = in_child<CUresult>("hold kernel=scale until=stream:2:2; fault kernel=bad code=700", [] {
    Rig rig;
    rig.launch("scale", 0);
    rig.launch("bad", 0);
    rig.launch("fill", 1);
    CUresult result = cuStreamSynchronize(rig.streams[1]);
    rig.launch("fill", 1);
    for (unsigned int passed = 1; passed <= 20; ++passed) {
      rig.mark(1, passed);
      while (result == CUDA_SUCCESS && rig.slots[1] != passed) {
        CUdeviceptr memory = 0;
        result = cuMemAlloc(&memory, 64);
      }
    }
    return result;
  });
  CHECK(after == CUDA_SUCCESS);
}

TEST_CASE("after a reset, the context has the same address, and the old registrations are gone") {
  struct Found {
    bool same_address;
    unsigned long long before, after;
    CUresult twice, old_memory, again, write, sync;
  };
  const Found found = in_child<Found>("fault kernel=scale nth=1 code=700", [] {
    static unsigned int word = 0;
    const auto place = reinterpret_cast<CUdeviceptr>(&word);
    Found seen{};
    Rig first;
    cuMemHostRegister(&word, sizeof word, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    seen.twice = cuMemHostRegister(&word, sizeof word, 0);
    cuCtxGetId(first.context, &seen.before);
    first.launch("scale", 0);
    cuCtxSynchronize();
    cuDevicePrimaryCtxReset(0);
    Rig second;
    seen.same_address = first.context == second.context;
    cuCtxGetId(second.context, &seen.after);
    seen.old_memory = cuStreamWriteValue32(second.streams[0], place, 7, 0);
    seen.again = cuMemHostRegister(&word, sizeof word, 0);
    seen.write = cuStreamWriteValue32(second.streams[0], place, 7, 0);
    seen.sync = cuCtxSynchronize();
    return seen;
  });
  CHECK(found.same_address);
  CHECK(found.before != found.after);
  CHECK(found.twice == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  CHECK(found.old_memory == CUDA_ERROR_INVALID_VALUE);
  CHECK(found.again == CUDA_SUCCESS);
  CHECK(found.write == CUDA_SUCCESS);
  CHECK(found.sync == CUDA_SUCCESS);
}

TEST_CASE("a synchronisation breaks another thread's global capture unless its own mode is relaxed") {
  struct Found {
    CUresult relaxed, unbroken, launch, strict, broken;
  };
  const Found found = in_child<Found>("", [] {
    Rig rig;
    Found seen{};
    CUgraph graph = nullptr;
    const auto elsewhere = [&](auto call) {
      std::thread([&] {
        cuCtxSetCurrent(rig.context);
        call();
      }).join();
    };
    cuStreamBeginCapture(rig.streams[0], CU_STREAM_CAPTURE_MODE_GLOBAL);
    elsewhere([&] {
      CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
      cuThreadExchangeStreamCaptureMode(&mode);
      seen.relaxed = cuStreamSynchronize(rig.streams[1]);
    });
    elsewhere([&] { seen.launch = rig.launch("fill", 1); });
    seen.unbroken = cuStreamEndCapture(rig.streams[0], &graph);
    cuStreamBeginCapture(rig.streams[0], CU_STREAM_CAPTURE_MODE_GLOBAL);
    elsewhere([&] { seen.strict = cuStreamSynchronize(rig.streams[1]); });
    seen.broken = cuStreamEndCapture(rig.streams[0], &graph);
    return seen;
  });
  CHECK(found.relaxed == CUDA_SUCCESS);
  CHECK(found.launch == CUDA_SUCCESS);
  CHECK(found.unbroken == CUDA_SUCCESS);
  CHECK(found.strict == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CHECK(found.broken == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_CASE("a captured marker becomes a node, and names the last node that finished") {
  const auto slot = in_child<unsigned int>("fault kernel=scale nth=5 code=700", [] {
    Rig rig;
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    cuStreamBeginCapture(rig.streams[0], CU_STREAM_CAPTURE_MODE_RELAXED);
    rig.launch_marked("scale", 0, 8);
    cuStreamEndCapture(rig.streams[0], &graph);
    cuGraphInstantiateWithFlags(&exec, graph, 0);
    cuGraphLaunch(exec, rig.streams[0]);
    cuCtxSynchronize();
    return rig.slots[0];
  });
  CHECK(slot == 4);
}

TEST_CASE("copies and memsets really happen, and fault past the end of their allocation") {
  struct Found {
    unsigned int value;
    CUresult unknown, issued, reported;
  };
  const Found found = in_child<Found>("", [] {
    Rig rig;
    Found seen{};
    CUdeviceptr memory = 0;
    unsigned int words[4] = {1, 2, 3, 4};
    cuMemAlloc(&memory, sizeof words);
    cuMemcpyHtoDAsync(memory, words, sizeof words, rig.streams[0]);
    cuMemsetD32Async(memory + 4, 9, 1, rig.streams[0]);
    cuStreamSynchronize(rig.streams[0]);
    cuMemcpyDtoH(words, memory, sizeof words);
    seen.value = words[0] * 1000 + words[1] * 100 + words[2] * 10 + words[3];
    seen.unknown = cuMemcpyHtoD(64, words, sizeof words);
    seen.issued = cuMemsetD8Async(memory, 0, 4096, rig.streams[0]);
    seen.reported = cuStreamSynchronize(rig.streams[0]);
    return seen;
  });
  CHECK(found.value == 1934);
  CHECK(found.unknown == CUDA_ERROR_INVALID_VALUE);
  CHECK(found.issued == CUDA_SUCCESS);
  CHECK(found.reported == CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_CASE("the legacy stream waits for blocking streams") {
  const auto value = in_child<unsigned int>("hold kernel=slow until=stream:1:1", [] {
    Rig rig;
    CUstream blocking = nullptr;
    cuStreamCreate(&blocking, CU_STREAM_DEFAULT);
    CUdeviceptr memory = 0;
    cuMemAlloc(&memory, 4);
    unsigned int stored = 42;
    void* arguments[] = {&memory, &stored};
    cuLaunchKernel(rig.kernel("slow"), 1, 1, 1, 1, 1, 1, 0, blocking, nullptr, nullptr);
    cuLaunchKernel(rig.kernel("sim_store_u32"), 1, 1, 1, 1, 1, 1, 0, blocking, arguments, nullptr);
    rig.launch("release", 0);
    unsigned int back = 0;
    cuMemcpyDtoH(&back, memory, sizeof back);
    return back;
  });
  CHECK(value == 42);
}
