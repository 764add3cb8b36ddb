// Plan: hang stream=1
// Launches for ever, the first five on a stream on which nothing ever finishes. The file named by the first argument
// holds our process id and the current number of launches.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include "driver.h"

int main(int, char** argv) {
  using Word = std::atomic<std::uint64_t>;
  const int file = open(argv[1], O_RDWR);
  void* shared = mmap(nullptr, 2 * sizeof(Word), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (shared == MAP_FAILED) return 2;
  auto* words = static_cast<Word*>(shared);
  Driver driver;
  CUfunction fill = driver.kernel("fill");
  CUstream hung = driver.stream(), busy = driver.stream();
  words[0] = static_cast<std::uint64_t>(getpid());
  for (std::uint64_t launched = 1;; ++launched) {
    CHECK(LAUNCH(fill, launched <= 5 ? hung : busy));
    words[1] = launched;
  }
}
