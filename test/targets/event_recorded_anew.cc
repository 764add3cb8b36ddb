// An event is recorded again while another thread waits for its first recording. The return of that wait says nothing
// about the work before the second recording.
// Plan: hold kernel=slow until=notify run=1; fault kernel=scale code=700
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>

#include "driver.h"

extern "C" void sim_notify();

std::atomic<int> waiter = 0;
std::atomic<bool> waited = false;

static void wait_for(const Driver& driver, CUevent event) {
  CHECK(cuCtxSetCurrent(driver.context));
  waiter = static_cast<int>(syscall(SYS_gettid));
  cuEventSynchronize(event);
  waited = true;
}

static bool sleeps(int thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(file, text);
  return text.find(") S ") != std::string::npos;
}

int main() {
  Driver driver;
  CUstream stream = driver.stream();
  CUfunction slow = driver.kernel("slow"), good = driver.kernel("fill"), bad = driver.kernel("scale");
  CUevent event = nullptr;
  CHECK(cuEventCreate(&event, 0));
  LAUNCH(slow, stream);
  CHECK(cuEventRecord(event, stream));
  std::thread other(wait_for, std::cref(driver), event);
  while (!waited && (waiter == 0 || !sleeps(waiter))) std::this_thread::yield();
  LAUNCH(bad, stream);  // TRUE LINE
  CHECK(cuEventRecord(event, stream));
  LAUNCH(good, stream);  // OTHER CANDIDATE
  sim_notify();
  other.join();
  CHECK(cuStreamSynchronize(stream));  // REPORTED LINE
  std::puts("done");
}
