"""The second half of a tensor is passed with the length of the whole tensor, so the pointer is inside the
allocation."""
import cupy
import torch

from here import or_skip

clip = cupy.RawKernel("""
extern "C" __global__ void clip(float* x, size_t n) {
  size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i < n) x[i] = fminf(x[i], 1);
}""", "clip")
whole = torch.zeros(1 << 30, device="cuda")  # ALLOC
half = whole[1 << 29:]


def launch(x, n):
    clip((n // 512,), (512,), (cupy.intp(x.data_ptr()), cupy.uint64(n)))  # LAUNCH


or_skip(lambda: (launch(half, half.numel()), torch.cuda.synchronize()))
launch(half, whole.numel())
torch.cuda.synchronize()
