// Sums by key with Thrust: there are fewer values than keys.
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>

int main() {
  const int n = 64 << 20;
  thrust::device_vector<int> keys(n, 1), sum_keys(n);
  thrust::device_vector<float> sums(n);
  float* values;
  cudaMalloc(&values, 1 << 20);                                   // ALLOC
  if (values < thrust::raw_pointer_cast(sums.data())) return 77;  // the sums would be read, without a failure
  try {
    thrust::reduce_by_key(thrust::device, keys.begin(), keys.end(), values, sum_keys.begin(), sums.begin());  // LAUNCH
    return cudaDeviceSynchronize() != cudaSuccess;
  } catch (const std::exception&) {
    return 1;
  }
}
