// The argument of a host function is deleted when the first replay is done, but the graph runs again.
// Report: https://github.com/NVIDIA/cccl/pull/5227
#include "../bounded.cuh"

struct Job {
  int number;
  double weights[100];
};

static void run(void* data) {
  const Job* job = static_cast<Job*>(data);
  printf("%d %g\n", job->number, job->weights[50]);
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  cudaStream_t stream = new_stream();
  Job* job = new Job{7, {}};
  cudaGraphExec_t step = captured(stream, [&] {
    busy<<<1, 1, 0, stream>>>(ticks(0.01));
    cudaLaunchHostFunc(stream, run, job);  // CAPTURE
  });
  cudaGraphLaunch(step, stream);
  cudaStreamSynchronize(stream);
  if (!corrected) delete job;     // HOST
  cudaGraphLaunch(step, stream);  // REPLAY
  cudaStreamSynchronize(stream);
  if (corrected) delete job;
  return finished();
}
