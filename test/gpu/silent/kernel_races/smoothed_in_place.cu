// A three-point stencil writes its result over its input.
// Related: https://github.com/numba/numba/issues/7502
#include <utility>

#include "../bounded.cuh"

__global__ void smooth(const double* in, double* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0 || i >= count - 1) return;
  const double sum = in[i - 1] + in[i] + in[i + 1];  // FIRST
  out[i] = sum / 3;                                  // SECOND
}

int main(int argc, char**) {
  const bool corrected = argc > 1;
  const int count = 5000;
  double *field = numbered<double>(count), *next = on_device<double>(count);
  for (int step = 0; step < 2; ++step) {
    double* to = corrected ? next : field;
    smooth<<<(count + 127) / 128, 128>>>(field, to, count);  // LAUNCH
    if (corrected) std::swap(field, next);
  }
  return finished();
}
