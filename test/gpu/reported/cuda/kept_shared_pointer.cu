// A kernel keeps a pointer to its shared memory in a structure; a later kernel without shared memory follows it.
struct State {
  float* scratch;
  int count;
};

__global__ void prepare(const float* x, State* state) {
  __shared__ float tile[10240];
  for (int i = threadIdx.x; i < 10240; i += blockDim.x) tile[i] = x[i];
  __syncthreads();
  if (threadIdx.x == 0) *state = {tile + 9216, static_cast<int>(tile[17]) + 1024};
}

__global__ void finish(const State* state, float* out) {
  if (threadIdx.x < state->count) out[threadIdx.x] = state->scratch[threadIdx.x];  // ACCESS
}

int main() {
  float *x, *out;
  State* state;
  cudaMalloc(&x, 10240 * sizeof(float));
  cudaMalloc(&out, 1024 * sizeof(float));
  cudaMalloc(&state, sizeof(State));
  cudaMemset(x, 0, 10240 * sizeof(float));
  prepare<<<1, 256>>>(x, state);
  if (cudaDeviceSynchronize() != cudaSuccess) return 77;
  finish<<<1, 256>>>(state, out);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
