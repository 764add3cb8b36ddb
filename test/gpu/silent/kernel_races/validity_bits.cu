// Threads set bits of a mask. Bit k of a word belongs to the thread that is k times 64 further, in another warp or
// block.
// No public report.
#include "../bounded.cuh"

static const int words = 64;

template <bool corrected>
__global__ void set_valid(const int* rows, unsigned* mask) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (rows[row] < 0) return;
  const unsigned bit = 1u << row / words;
  if (corrected) {
    atomicOr(&mask[row % words], bit);
  } else {
    mask[row % words] |= bit;  // FIRST
  }
}

int main(int argc, char**) {
  const int rows = 32 * words;
  int* values = on_device<int>(rows);
  unsigned* mask = on_device<unsigned>(words);
  if (argc > 1) {
    set_valid<true><<<rows / 128, 128>>>(values, mask);
  } else {
    set_valid<false><<<rows / 128, 128>>>(values, mask);  // LAUNCH
  }
  return finished();
}
