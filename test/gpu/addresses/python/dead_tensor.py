"""A tensor's address is used after the tensor is gone and the cache was emptied."""
import cupy
import torch

from here import or_skip

decay = cupy.RawKernel('extern "C" __global__ void decay(float* x) { x[threadIdx.x] *= 0.9f; }', "decay")
x = torch.ones(64 << 20, device="cuda")  # ALLOC
address = x.data_ptr()
or_skip(lambda: (decay((1,), (64,), (cupy.intp(address),)), torch.cuda.synchronize()))
del x  # FREED
torch.cuda.empty_cache()  # FREED
decay((1,), (64,), (cupy.intp(address),))  # LAUNCH
torch.cuda.synchronize()
