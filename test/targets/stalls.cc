// Work that stalls while the program runs. The argument selects the case. Each line of input releases the next wait. A
// second argument says what the program does at the first SIGINT: "exits" with status 3, or "goes-on".
// The plan holds the kernels.
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "driver.h"

extern "C" void sim_notify();

namespace {

std::atomic<unsigned> turns = 0;
CUdeviceptr word = 0;

// Device memory is host memory here.
void take_turns() {
  while (std::getchar() != EOF) {
    *reinterpret_cast<volatile unsigned*>(word) = ++turns;
    sim_notify();
  }
}

void say(const char* text) {
  std::puts(text);
  std::fflush(stdout);
}

void wait_twice(CUstream stream) {
  for (unsigned turn = 1; turn <= 2; ++turn) {
    CHECK(cuStreamWaitValue32(stream, word, turn, CU_STREAM_WAIT_VALUE_GEQ));  // TRUE LINE twice
    say("waits");
    CHECK(cuStreamSynchronize(stream));  // WAITS twice
  }
}

void work_beside(CUstream stuck, CUstream busy, CUfunction spin, CUfunction scale) {
  CHECK(LAUNCH(spin, stuck));  // TRUE LINE beside
  while (turns == 0) {
    CHECK(LAUNCH(scale, busy));
    CHECK(cuStreamSynchronize(busy));
    std::this_thread::yield();
  }
  CHECK(cuStreamSynchronize(stuck));
}

}  // namespace

int main(int count, char** argv) {
  const auto shape = [&](const char* name) { return std::strcmp(argv[1], name) == 0; };
  const auto at_signal = [&](const char* name) { return count > 2 && std::strcmp(argv[2], name) == 0; };
  if (at_signal("exits")) std::signal(SIGINT, [](int) { std::_Exit(3); });
  if (at_signal("goes-on")) std::signal(SIGINT, [](int) { std::signal(SIGINT, SIG_DFL); });
  Driver driver;
  CUfunction spin = driver.kernel("_Z4spinPiy");
  CUfunction scale = driver.kernel("scale");
  CUstream first = driver.stream();
  CUstream second = driver.stream();
  word = driver.allocate(4);
  *reinterpret_cast<volatile unsigned*>(word) = 0;
  std::thread(take_turns).detach();
  if (shape("twice")) {
    wait_twice(first);
  } else if (shape("beside")) {
    work_beside(first, second, spin, scale);
  } else if (shape("events")) {
    CUevent event = nullptr;
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CHECK(LAUNCH(spin, first));  // TRUE LINE events
    CHECK(cuEventRecord(event, first));
    CHECK(cuStreamWaitEvent(second, event, 0));
    CHECK(LAUNCH(scale, second));
    say("waits");
    CHECK(cuStreamSynchronize(second));  // WAITS events
  } else if (shape("copy")) {
    int number = 0;
    CHECK(LAUNCH(spin, nullptr));  // TRUE LINE copy
    say("waits");
    CHECK(cuMemcpyDtoH(&number, word, sizeof number));  // WAITS copy
  }
  say("done");
}
