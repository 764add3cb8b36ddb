// Sums by key with Thrust: there are fewer values than keys.
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/discard_iterator.h>
#include <thrust/reduce.h>

int main() {
  const int n = 64 << 20;
  thrust::device_vector<char> keys(n, 1);
  double* values;
  cudaMalloc(&values, 1 << 20);  // ALLOC
  auto nowhere = thrust::make_discard_iterator();
  try {
    thrust::reduce_by_key(thrust::device, keys.begin(), keys.end(), values, nowhere, nowhere);  // LAUNCH
    return cudaDeviceSynchronize() != cudaSuccess;
  } catch (const std::exception&) {
    return 1;
  }
}
