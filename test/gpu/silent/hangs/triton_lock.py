"""A Triton kernel takes a lock that an earlier one left locked; the main stream waits for its stream. The kernel gives
up after 8 s.

Related: https://github.com/xlite-dev/LeetCUDA/issues/391
"""
import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import globaltimer


@triton.jit
def accumulate(lock, total, release, most):
    start = globaltimer()
    taken = tl.atomic_cas(lock, 0, 1)
    while (taken == 1) & (globaltimer() - start < most):  # SPINS
        taken = tl.atomic_cas(lock, 0, 1)  # SPINS
    tl.atomic_add(total, 1.0)
    if release == 0:
        tl.atomic_xchg(lock, 0)


lock = torch.zeros(1, dtype=torch.int32, device="cuda")
total = torch.zeros(1, device="cuda")
side = torch.cuda.Stream()
torch.cuda.synchronize()
with torch.cuda.stream(side):
    accumulate[(1,)](lock, total, 0, 8_000_000_000)
    accumulate[(1,)](lock, total, 2, 8_000_000_000)  # leaves the lock locked
    side.synchronize()
    accumulate[(1,)](lock, total, 0, 8_000_000_000)  # STUCK
torch.cuda.current_stream().wait_stream(side)
print((total * 2).item())  # WAITS
