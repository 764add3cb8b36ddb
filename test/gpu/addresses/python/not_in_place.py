"""`x.cuda()` returns a copy, which is discarded; the address is that of the tensor on the host."""
import cupy
import torch

from here import needs_no_pageable_access, or_skip

distance = cupy.RawKernel("""
extern "C" __global__ void distance(const float* x, const float* y, float* out) {
  float d = x[threadIdx.x] - y[threadIdx.x];
  out[threadIdx.x] = d * d;
}""", "distance")
needs_no_pageable_access()
x, y = torch.rand(1 << 20, device="cuda"), torch.rand(1 << 20)
out = torch.zeros(1024, device="cuda")


def chamfer(x, y):
    addresses = (cupy.intp(t.data_ptr()) for t in (x, y, out))
    distance((1,), (64,), tuple(addresses))  # LAUNCH


or_skip(lambda: (chamfer(x, x), torch.cuda.synchronize()))
y.cuda()
chamfer(x, y)
torch.cuda.synchronize()
