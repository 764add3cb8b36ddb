// An entry holds a short key, or a pointer to a long key. The kernel uses a short key as a pointer.
struct Entry {
  bool is_long;
  union {
    unsigned long long key;
    const unsigned long long* words;
  };
};

__global__ void hash(const Entry* entries, unsigned long long* hashes) {
  const Entry& entry = entries[threadIdx.x];
  unsigned long long h = 14695981039346656037ULL;
  for (int i = 0; i < 2; i++) h = (h ^ entry.words[i]) * 1099511628211ULL;  // ACCESS
  hashes[threadIdx.x] = h;
}

int main() {
  Entry host[32], *entries;
  unsigned long long *words, *hashes;
  cudaMalloc(&words, 64 * sizeof(unsigned long long));
  cudaMalloc(&hashes, 32 * sizeof(unsigned long long));
  cudaMalloc(&entries, sizeof host);
  for (int i = 0; i < 32; i++) {
    host[i].is_long = i != 17;
    host[i].words = words + 2 * i;
    if (!host[i].is_long) host[i].key = 20250416;
  }
  cudaMemcpy(entries, host, sizeof host, cudaMemcpyHostToDevice);
  hash<<<1, 32>>>(entries, hashes);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
