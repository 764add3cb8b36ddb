// The host and the kernel disagree on the order of a structure's fields, so the kernel takes a count for a pointer.
struct HostPlan {
  long long count;
  float *in, *out;
};

struct Plan {
  float *in, *out;
  long long count;
};

__global__ void run(const Plan* plan) {
  for (long long i = threadIdx.x; i < plan->count; i += blockDim.x) plan->out[i] = 2 * plan->in[i];  // ACCESS
}

int main() {
  HostPlan host = {1 << 20, nullptr, nullptr};
  void* plan;
  cudaMalloc(&host.in, host.count * sizeof(float));
  cudaMalloc(&host.out, host.count * sizeof(float));
  cudaMalloc(&plan, sizeof host);
  cudaMemcpy(plan, &host, sizeof host, cudaMemcpyHostToDevice);
  run<<<1, 256>>>(static_cast<Plan*>(plan));  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
