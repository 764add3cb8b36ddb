"""A grouped product uses a tensor of addresses; one of the matrices is gone by the second call."""
import torch
import triton
import triton.language as tl

from here import or_skip


@triton.jit
def sums(addresses, out, SIZE: tl.constexpr):
    group = tl.program_id(0)
    matrix = tl.load(addresses + group).to(tl.pointer_type(tl.float32))
    tl.store(out + group, tl.sum(tl.load(matrix + tl.arange(0, SIZE))))  # ACCESS


matrices = [torch.ones(32 << 20, device="cuda") for _ in range(4)]  # ALLOC
addresses = torch.tensor([m.data_ptr() for m in matrices], device="cuda")
out = torch.zeros(4, device="cuda")
or_skip(lambda: (sums[(4,)](addresses, out, SIZE=1024), torch.cuda.synchronize()))
del matrices[2]  # FREED
torch.cuda.empty_cache()  # FREED
sums[(4,)](addresses, out, SIZE=1024)  # LAUNCH
torch.cuda.synchronize()
