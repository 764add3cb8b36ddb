// The same line's kernel takes 2, 2.4 and 3.5 s: the last one is over the limit and not far from the others.
// Without a report.
#include "../bounded.cuh"

int main() {
  cudaStream_t stream = new_stream();
  for (double seconds : {2.0, 2.4, 3.5}) {
    const long long most = ticks(seconds);
    busy<<<1, 1, 0, stream>>>(most);
    cudaStreamSynchronize(stream);
  }
  return finished();
}
