// A host function waits for a message that main sends only after the stream is done. The function gives up after 8 s.
// Report: https://github.com/iree-org/iree/pull/15673
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "../bounded.cuh"

struct Mailbox {
  std::mutex mutex;
  std::condition_variable arrived;
  bool full = false;
};

static void next_batch(void* argument) {
  Mailbox& mailbox = *static_cast<Mailbox*>(argument);
  std::unique_lock guard(mailbox.mutex);
  mailbox.arrived.wait_for(guard, std::chrono::seconds(8), [&] { return mailbox.full; });
}

int main() {
  Mailbox mailbox;
  int* memory = on_device<int>(64);
  cudaStream_t stream = new_stream();
  cudaEvent_t done = new_event();
  cudaLaunchHostFunc(stream, next_batch, &mailbox);  // STUCK
  cudaMemsetAsync(memory, 1, 64 * sizeof(int), stream);
  cudaEventRecord(done, stream);
  cudaEventSynchronize(done);  // WAITS
  std::lock_guard guard(mailbox.mutex);
  mailbox.full = true;
  return finished();
}
