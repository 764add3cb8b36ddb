// A list of chunks: the second chunk was released, and the first one still points to it.
struct Chunk {
  Chunk* next;
  int used;
  float values[16 << 20];
};

__global__ void total(const Chunk* head, float* out) {
  float sum = 0;
  for (const Chunk* chunk = head; chunk; chunk = chunk->next)                             // ACCESS
    for (int i = threadIdx.x; i < chunk->used; i += blockDim.x) sum += chunk->values[i];  // ACCESS
  atomicAdd(out, sum);
}

int main() {
  Chunk* chunks[3];
  float* out;
  for (Chunk*& chunk : chunks) {
    cudaMalloc(&chunk, sizeof(Chunk));  // ALLOC
    cudaMemset(chunk, 0, sizeof(Chunk));
  }
  cudaMalloc(&out, sizeof(float));
  for (int i = 0; i < 2; i++) cudaMemcpy(&chunks[i]->next, &chunks[i + 1], sizeof(Chunk*), cudaMemcpyHostToDevice);
  total<<<1, 128>>>(chunks[0], out);
  cudaFree(chunks[1]);                // FREED
  total<<<1, 128>>>(chunks[0], out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
