// thrust::gather with a map in which one index is far outside the source.
#include <thrust/device_vector.h>
#include <thrust/gather.h>

int main() {
  thrust::device_vector<float> source(1 << 22), result(1 << 16);  // ALLOC
  thrust::device_vector<int> map(1 << 16);
  map[777] = 1 << 30;
  thrust::gather(map.begin(), map.end(), source.begin(), result.begin());  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
