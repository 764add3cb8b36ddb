// The host changes pinned memory between two calls, before a copy has read it: `race_host_line WHICH [corrected]`.
// Plan: hold kernel=slow until=notify
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "driver.h"

extern "C" void sim_notify();

constexpr std::size_t kBytes = 60'000;

struct Work {
  CUstream stream;
  CUevent event;
  CUdeviceptr device;
  unsigned char* source;
  bool corrected;
};

// Waits until all other threads wait, such as those of the simulated driver.
static void settle() {
  for (bool wait = false; !wait;) {
    wait = true;
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/task")) {
      std::string state;
      std::getline(std::ifstream(each.path() / "stat"), state);
      const bool own = each.path().filename() == std::to_string(gettid());
      wait &= own || state.find(") S") != std::string::npos;
    }
  }
}

// A call that wakes no other thread.
#define CALL(work) CHECK(cuEventCreate(&work.event, CU_EVENT_DISABLE_TIMING))

static void statement(Work& work) {
  CHECK(cuMemcpyHtoDAsync(work.device, work.source, kBytes, work.stream));  // COPY LINE statement
  settle();
  CALL(work);  // CALL LINE statement
  if (work.corrected) CHECK(cuStreamSynchronize(work.stream));
  work.source[100] = 2;  // HOST LINE statement
  CHECK(cuEventRecord(work.event, work.stream));
}

static void loop(Work& work) {
  for (unsigned step = 0; step < 3; ++step) {
    if (work.corrected) CHECK(cuStreamSynchronize(work.stream));
    for (std::size_t i = 0; i < kBytes; ++i) work.source[i] = static_cast<unsigned char>(step + i);  // HOST LINE loop
    CHECK(cuMemcpyHtoDAsync(work.device, work.source, kBytes, work.stream));                         // COPY LINE loop
    settle();
    CALL(work);
  }
}

static void step(Work& work, int value) {
  std::memset(work.source, value, kBytes);                                  // HOST LINE function
  CHECK(cuMemcpyHtoDAsync(work.device, work.source, kBytes, work.stream));  // COPY LINE function
  settle();
  CALL(work);
  if (work.corrected) CHECK(cuStreamSynchronize(work.stream));
}

static void function(Work& work) {
  step(work, 2);
  step(work, 3);
}

static void two_statements(Work& work) {
  CHECK(cuMemcpyHtoDAsync(work.device, work.source, kBytes, work.stream));  // COPY LINE two_statements
  settle();
  CALL(work);  // CALL LINE two_statements
  if (work.corrected) CHECK(cuStreamSynchronize(work.stream));
  work.source[100] = 2;
  work.source[200] = 2;
  CHECK(cuEventRecord(work.event, work.stream));  // RECORD LINE two_statements
}

static void refill(unsigned char* source) { source[100] = 2; }

static void called(Work& work) {
  CHECK(cuMemcpyHtoDAsync(work.device, work.source, kBytes, work.stream));  // COPY LINE called
  settle();
  CALL(work);  // CALL LINE called
  if (work.corrected) CHECK(cuStreamSynchronize(work.stream));
  refill(work.source);
  CHECK(cuEventRecord(work.event, work.stream));  // RECORD LINE called
}

// Lets another thread write to the memory, while the assignment itself writes nothing.
struct HandOver {
  std::atomic<int>& turn;
  void operator=(int) const {
    turn = 1;
    turn.notify_one();
    while (turn != 2) std::this_thread::yield();
  }
};

static void thread(Work& work) {
  std::atomic<int> turn = 0;
  std::thread writer([&] {
    turn.wait(0);
    for (int i = 0; i < 100; ++i) std::memset(work.source, i, kBytes);
    turn = 2;
  });
  const HandOver over[] = {{turn}};
  CHECK(cuMemcpyHtoDAsync(work.device, work.source, kBytes, work.stream));  // COPY LINE thread
  settle();
  CALL(work);  // CALL LINE thread
  if (work.corrected) CHECK(cuStreamSynchronize(work.stream));
  over[0] = 1;
  CHECK(cuEventRecord(work.event, work.stream));
  writer.join();
}

int main(int count, char** arguments) {
  const struct {
    const char* name;
    void (*run)(Work&);
  } all[] = {{"statement", statement},           {"loop", loop},     {"function", function},
             {"two_statements", two_statements}, {"called", called}, {"thread", thread}};
  Driver driver;
  Work work = {driver.stream(), nullptr, driver.allocate(kBytes), nullptr, count > 2};
  CHECK(cuEventCreate(&work.event, CU_EVENT_DISABLE_TIMING));
  CHECK(cuMemHostAlloc(reinterpret_cast<void**>(&work.source), kBytes, 0));
  std::memset(work.source, 1, kBytes);
  CUfunction slow = driver.kernel("slow");
  CHECK(cuCtxSynchronize());
  if (!work.corrected) LAUNCH(slow, work.stream);
  for (const auto& each : all) {
    if (std::strcmp(arguments[1], each.name) == 0) each.run(work);
  }
  sim_notify();
  CHECK(cuCtxSynchronize());
  std::puts("done");
}
