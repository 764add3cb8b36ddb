// A runtime call fails, but its error is read only after a launch that worked, so that launch gets the blame. Argument
// "copy": a copy fails; "launch": a launch fails, three times; "two_sites": launches fail at two call sites of one
// line, so many times that the first failures are forgotten; "went_on": the program continues and fails for another
// reason; "all_well": it exits with 0; "peeked": it sees the error twice.
#include <cstring>

#include "runtime.h"

KERNEL(scale);

#define AT_TWO_SITES(call)           \
  for (int i = 0; i < 16; ++i) call; \
  for (int i = 0; i < 4; ++i) call

namespace {

void check_launch(bool ends) {
  const cudaError_t error = cudaGetLastError();  // ASKED LINE
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "the launch failed: %s\n", cudaGetErrorString(error));
  if (ends) std::exit(1);
}

}  // namespace

int main(int, char** argv) {
  const auto is = [&](const char* how) { return std::strcmp(argv[1], how) == 0; };
  void* memory = nullptr;
  if (cudaMalloc(&memory, 4096) != cudaSuccess) return 1;
  static char values[64];
  for (int i = 0; is("launch") && i < 3; ++i) {
    LAUNCH(scale, dim3(1), dim3(2048));  // TRUE LINE launch
  }
  if (is("two_sites")) {
    AT_TWO_SITES(LAUNCH(scale, 1, 2048));  // TRUE LINE two_sites
  }
  char* beyond = static_cast<char*>(memory) + (1 << 20);
  if (is("peeked")) {
    cudaMemset(beyond, 1, sizeof values);  // TRUE LINE peeked
    for (int step = 0; step < 3; ++step) {
      LAUNCH(scale, dim3(1), dim3(32));
      if (cudaPeekAtLastError() != cudaSuccess) std::fprintf(stderr, "step %d failed\n", step);
    }
    return 1;
  }
  if (is("all_well")) {
    cudaMemset(beyond, 0, sizeof values);  // TRUE LINE all_well
  } else if (!is("launch") && !is("two_sites")) {
    cudaMemcpy(beyond, values, sizeof values, cudaMemcpyHostToDevice);  // TRUE LINE copy
  }
  LAUNCH(scale, dim3(1), dim3(32));
  check_launch(!is("went_on") && !is("all_well"));
  if (is("all_well")) return 0;
  LAUNCH(scale, dim3(1), dim3(32));
  return cudaDeviceSynchronize() == cudaSuccess ? 3 : 1;
}
