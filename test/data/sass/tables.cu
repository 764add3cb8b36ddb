// Kernels that read addresses from memory. Compiled with: nvcc -arch=sm_90 -cubin; printed by nvdisasm -b SM90a.
struct Row {
  float* cells;
  int count;
};
struct Sheet {
  long number;
  const Row* rows;
};
struct Node {
  float value;
  Node* next;
};

extern "C" __global__ void table__8(const Row* rows) {
  const Row r = rows[blockIdx.y];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < r.count) r.cells[i] *= 0.5f;
}

extern "C" __global__ void sheet__8(const Sheet* sheet) {
  const Row r = sheet->rows[1];
  if (threadIdx.x < r.count) r.cells[threadIdx.x] = 0;
}

extern "C" __global__ void list__8(Node* node) {
  for (; node != nullptr; node = node->next) node->value = 1;
}

extern "C" __global__ void relinked__8(Row* rows) {
  rows[1].cells = rows[0].cells;
  __syncthreads();
  rows[1].cells[threadIdx.x] = 1;
}

extern "C" __global__ void chosen__8_8(float* const* rows, const int* which) { rows[which[threadIdx.x]][0] = 1; }

extern "C" __global__ void vtable__8(float*** object) { object[0][2][threadIdx.x] = 1; }

struct Plan {
  float *in, *out;
  long long count;
};

extern "C" __global__ void planned__8(const Plan* plan) {
  for (long long i = threadIdx.x; i < plan->count; i += blockDim.x) plan->out[i] = 2 * plan->in[i];
}

struct Moments {
  float* of[4];
  int used;
};

extern "C" __global__ void update__40_8(Moments moments, float* weights) {
#pragma unroll 1
  for (int m = 0; m < moments.used; m++) weights[threadIdx.x] -= moments.of[m][threadIdx.x];
}

extern "C" __global__ void halves__8(const unsigned* halves) {
  unsigned long long address = static_cast<unsigned long long>(halves[0]) << 32 | halves[1];
  reinterpret_cast<float*>(address)[threadIdx.x] = 1;
}
