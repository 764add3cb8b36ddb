// A function returns its pinned buffer to a pool when it ends; the next call gets that buffer while the copy is still
// queued.
// Report: https://github.com/NVIDIA/cudf/issues/22284
#include <vector>

#include "../bounded.cuh"

static std::vector<int*> pool;
static const int count = 4096;

static int* take() {
  if (pool.empty()) return pinned<int>(count);
  int* memory = pool.back();
  pool.pop_back();
  return memory;
}

static void upload_columns(int* device, int first, cudaStream_t stream, bool corrected) {
  int* columns = take();
  for (int i = 0; i < count; ++i) columns[i] = first + i;                                 // HOST
  cudaMemcpyAsync(device, columns, count * sizeof(int), cudaMemcpyHostToDevice, stream);  // FIRST
  if (corrected) cudaStreamSynchronize(stream);
  pool.push_back(columns);
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  int *left = on_device<int>(count), *right = on_device<int>(count);
  cudaStream_t stream = new_stream();
  busy<<<1, 1, 0, stream>>>(ticks(0.2));
  upload_columns(left, 1000, stream, corrected);
  upload_columns(right, 50'000, stream, corrected);
  return finished();
}
