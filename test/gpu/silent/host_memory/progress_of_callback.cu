// The argument of a captured host function is a local struct of the function that captured it.
// Related: https://github.com/NVIDIA/cuda-python/issues/2317
#include "../bounded.cuh"

struct Progress {
  long step, steps;
};

static Progress kept;

static void print(void* data) {
  const Progress* progress = static_cast<Progress*>(data);
  printf("%ld of %ld\n", progress->step, progress->steps);
}

static __attribute__((noinline)) cudaGraphExec_t record(long steps, cudaStream_t stream, bool corrected) {
  Progress progress{0, steps};
  if (corrected) kept = progress;
  return captured(stream, [&] {
    busy<<<1, 1, 0, stream>>>(ticks(0.01));
    cudaLaunchHostFunc(stream, print, corrected ? &kept : &progress);  // CAPTURE
  });
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  cudaStream_t stream = new_stream();
  cudaGraphExec_t step = record(20, stream, corrected);
  cudaGraphLaunch(step, stream);  // REPLAY
  return finished();
}
