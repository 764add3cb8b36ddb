// A list of tensors keeps their sizes as int, and one tensor has more elements than fit.
struct Tensors {
  const unsigned char* data[2];
  int sizes[2];
};

__global__ void sum_tails(Tensors tensors, int tail, unsigned* sums) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= tail) return;
  const unsigned char* data = tensors.data[blockIdx.y];
  int size = tensors.sizes[blockIdx.y];
  atomicAdd(&sums[blockIdx.y], data[size - 1 - i]);  // ACCESS
}

struct List {
  Tensors tensors = {};
  int count = 0;

  void add(const unsigned char* data, size_t size) {
    tensors.data[count] = data;
    tensors.sizes[count++] = static_cast<int>(size);
  }
  bool run(unsigned* sums) const {
    sum_tails<<<dim3(4096, count), 256>>>(tensors, 1 << 20, sums);  // LAUNCH
    return cudaDeviceSynchronize() == cudaSuccess;
  }
};

int main() {
  const size_t small = 4 << 20, large = size_t{19345706} * 128;
  unsigned char *bias, *embedding;
  unsigned* sums;
  cudaMalloc(&sums, 2 * sizeof(unsigned));
  cudaMalloc(&bias, small);
  if (cudaMalloc(&embedding, large) != cudaSuccess) return 77;  // ALLOC
  cudaMemset(sums, 0, 2 * sizeof(unsigned));
  List list;
  list.add(bias, small);
  if (!list.run(sums)) return 77;
  list.add(embedding, large);
  return list.run(sums) ? 0 : 1;
}
