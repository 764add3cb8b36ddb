// An index of posting lists: a cursor runs beyond its list, whose pointer is two loads away from the parameter.
struct List {
  const int* documents;
  long long length;
};

struct Index {
  const List* lists;
  int terms;
};

__global__ void read_at(const Index* index, const int* terms, const long long* cursors, int* out) {
  const List& list = index->lists[terms[blockIdx.x]];
  out[blockIdx.x * blockDim.x + threadIdx.x] = list.documents[cursors[blockIdx.x] + threadIdx.x];  // ACCESS
}

template <typename T>
T* on_device(const T* host, size_t n) {
  T* copy;
  cudaMalloc(&copy, n * sizeof(T));
  cudaMemcpy(copy, host, n * sizeof(T), cudaMemcpyHostToDevice);
  return copy;
}

int main() {
  const long long length = 8 << 20;
  List lists[3];
  int term_of[3] = {0, 2, 1}, *documents, *out;
  for (List& list : lists) {
    cudaMalloc(&documents, length * sizeof(int));  // ALLOC
    list = {documents, length};
  }
  long long cursor_of[3] = {0, 1 << 20, 1LL << 31};
  Index index = {on_device(lists, 3), 3};
  cudaMalloc(&out, 3 * 32 * sizeof(int));
  read_at<<<3, 32>>>(on_device(&index, 1), on_device(term_of, 3), on_device(cursor_of, 3), out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
