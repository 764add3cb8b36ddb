"""A kernel on GPU 0 uses the address of a table on GPU 1."""
import torch
import triton
import triton.language as tl

from here import or_skip


@triton.jit
def look_up(address, ids, out, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    table = address.to(tl.pointer_type(tl.float32))
    tl.store(out + at, tl.load(table + tl.load(ids + at)))  # ACCESS


here = torch.zeros(16 << 20, device="cuda:0")
there = torch.zeros(16 << 20, device="cuda:1")  # ALLOC
ids = torch.arange(64, device="cuda:0")
out = torch.zeros(64, device="cuda:0")
or_skip(lambda: (look_up[(1,)](here.data_ptr(), ids, out, SIZE=64), torch.cuda.synchronize()))
look_up[(1,)](there.data_ptr(), ids, out, SIZE=64)  # LAUNCH
torch.cuda.synchronize()
