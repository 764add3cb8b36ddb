// A hash table: the remainder of a signed hash is negative for half of the keys.
struct Bucket {
  int count, keys[15];
};

__device__ int hash_of(int key) { return int(unsigned(key) * 2654435761u); }

__global__ void insert(const int* keys, Bucket* buckets, int bucket_count) {
  int key = keys[blockIdx.x * blockDim.x + threadIdx.x];
  Bucket& bucket = buckets[hash_of(key) % bucket_count];
  int slot = atomicAdd(&bucket.count, 1);  // ACCESS
  if (slot < 15) bucket.keys[slot] = key;
}

__global__ void number(int* keys) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  keys[i] = i;
}

int main() {
  const int n = 1 << 18, bucket_count = 1000003;
  int* keys;
  Bucket* buckets;
  cudaMalloc(&keys, n * sizeof(int));
  cudaMalloc(&buckets, bucket_count * sizeof(Bucket));  // ALLOC
  cudaMemset(buckets, 0, bucket_count * sizeof(Bucket));
  number<<<n / 256, 256>>>(keys);
  insert<<<n / 256, 256>>>(keys, buckets, bucket_count);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
