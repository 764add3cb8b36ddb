// Two row-wise copies write the left and the right columns of the same rows.
// No public report.
#include "../bounded.cuh"

int main() {
  const size_t pitch = 4096, left = 1500, rows = 64;
  char *table = on_device<char>(pitch * rows), *one = pinned<char>(left * rows), *two = pinned<char>(pitch * rows);
  cudaStream_t first = new_stream(), second = new_stream();
  cudaMemcpy2DAsync(table, pitch, one, left, left, rows, cudaMemcpyHostToDevice, first);
  cudaMemcpy2DAsync(table + left, pitch, two, pitch, pitch - left, rows, cudaMemcpyHostToDevice, second);
  return finished();
}
