// Objects with virtual functions are constructed on the host and copied to the device as bytes.
struct Shape {
  float a, b;
  __host__ __device__ Shape(float x, float y) : a(x), b(y) {}
  __host__ __device__ virtual float area() const = 0;
};

struct Box : Shape {
  __host__ __device__ Box(float x, float y) : Shape(x, y) {}
  __host__ __device__ float area() const override { return a * b; }
};

struct Ellipse : Shape {
  __host__ __device__ Ellipse(float x, float y) : Shape(x, y) {}
  __host__ __device__ float area() const override { return 3.14159265f * a * b; }
};

__global__ void measure(const Shape* const* shapes, float* areas) {
  areas[threadIdx.x] = shapes[threadIdx.x & 1]->area();  // ACCESS
}

int main() {
  const Box box(2, 3);
  const Ellipse ellipse(1, 2);
  Shape *host[2], **shapes;
  float* areas;
  cudaMalloc(&host[0], sizeof(Box));
  cudaMalloc(&host[1], sizeof(Ellipse));
  cudaMalloc(&shapes, sizeof host);
  cudaMalloc(&areas, 32 * sizeof(float));
  cudaMemcpy(host[0], &box, sizeof box, cudaMemcpyHostToDevice);
  cudaMemcpy(host[1], &ellipse, sizeof ellipse, cudaMemcpyHostToDevice);
  cudaMemcpy(shapes, host, sizeof host, cudaMemcpyHostToDevice);
  measure<<<1, 32>>>(shapes, areas);  // LAUNCH
  return cudaDeviceSynchronize() != cudaSuccess;
}
