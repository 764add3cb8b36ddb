"""The tensor is gone, but its memory belongs to the next tensor; a wrong slot causes the failure."""
import cupy
import torch

from here import needs_same_address, or_skip

put = cupy.RawKernel('extern "C" __global__ void put(int* slots, long long slot) { slots[slot] = 1; }', "put")
first = torch.zeros(16 << 20, dtype=torch.int32, device="cuda")
address = first.data_ptr()
or_skip(lambda: (put((1,), (1,), (cupy.intp(address), cupy.int64(0))), torch.cuda.synchronize()))
del first
second = torch.zeros(16 << 20, dtype=torch.int32, device="cuda")  # ALLOC
needs_same_address(address, second.data_ptr())
put((1,), (1,), (cupy.intp(address), cupy.int64(1 << 30)))  # LAUNCH
torch.cuda.synchronize()
