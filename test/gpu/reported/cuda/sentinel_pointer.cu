// Buckets end with a pointer of all ones; the kernel only expects null at the end.
struct Entry {
  unsigned long long key;
  float value;
  Entry* next;
};

__global__ void find(Entry* const* buckets, unsigned long long key, float* out) {
  Entry* entry = buckets[threadIdx.x];
  while (entry && entry->key != key) entry = entry->next;  // ACCESS
  out[threadIdx.x] = entry ? entry->value : 0;
}

int main() {
  Entry host[64] = {}, *entries, *heads[64], **buckets;
  float* out;
  cudaMalloc(&entries, sizeof host);
  cudaMalloc(&buckets, sizeof heads);
  cudaMalloc(&out, 64 * sizeof(float));
  for (int i = 0; i < 64; i++) {
    host[i] = {7, 1.0f, i == 30 ? reinterpret_cast<Entry*>(~0ULL) : nullptr};
    heads[i] = entries + i;
  }
  cudaMemcpy(entries, host, sizeof host, cudaMemcpyHostToDevice);
  cudaMemcpy(buckets, heads, sizeof heads, cudaMemcpyHostToDevice);
  find<<<1, 64>>>(buckets, 7, out);
  find<<<1, 64>>>(buckets, 8, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
