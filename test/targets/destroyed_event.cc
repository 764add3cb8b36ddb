// A call is refused because a context no longer exists. Argument "waits": the program waits for a destroyed event, and
// dies of the refusal; "continues": it ignores it; "releases": a release is refused, and the program fails for another
// reason; "late": the same with a call of a destructor that runs after exit().
// Plan: fail api=cuStreamWaitEvent code=709; fail api=cuEventDestroy_v2 nth=2 code=709; fail api=cuCtxSynchronize code=709
#include <cstring>

#include "runtime.h"

namespace {

struct Waits {
  bool late = false;
  ~Waits() {
    if (late && cudaDeviceSynchronize() == cudaSuccess) std::puts("it was not refused");
  }
};
Waits waits;

}  // namespace

int main(int, char** argv) {
  const auto is = [&](const char* how) { return std::strcmp(argv[1], how) == 0; };
  cudaStream_t stream = nullptr;
  cudaEvent_t ready = nullptr;
  if (cudaStreamCreate(&stream) != cudaSuccess || cudaEventCreate(&ready) != cudaSuccess) return 1;
  if (cudaEventDestroy(ready) != cudaSuccess) return 1;
  waits.late = is("late");
  if (is("late")) return 3;
  if (is("releases")) return cudaEventDestroy(ready) == cudaSuccess ? 1 : 3;
  const cudaError_t error = cudaStreamWaitEvent(stream, ready, 0);  // TRUE LINE waits
  if (error == cudaSuccess) return 1;
  std::printf("wait: %d\n", error);
  return is("waits") ? 9 : 0;
}
