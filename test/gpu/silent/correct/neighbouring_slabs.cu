// Two 3-D copies fill two slabs of a volume on two streams, side by side in every row.
// No public report.
#include "../bounded.cuh"

int main() {
  const size_t width = 96, height = 40, depth = 20, row = width * sizeof(float);
  float *volume = on_device<float>(width * height * depth), *host = pinned<float>(width * height * depth);
  for (size_t side = 0; side < 2; ++side) {
    cudaMemcpy3DParms copy{};
    copy.srcPtr = make_cudaPitchedPtr(host, row, width, height);
    copy.dstPtr = make_cudaPitchedPtr(volume, row, width, height);
    copy.srcPos = copy.dstPos = make_cudaPos(side * row / 2, 0, 0);
    copy.extent = make_cudaExtent(row / 2, height, depth);
    copy.kind = cudaMemcpyHostToDevice;
    cudaMemcpy3DAsync(&copy, new_stream());
  }
  return finished();
}
