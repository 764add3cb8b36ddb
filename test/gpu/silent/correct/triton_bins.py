"""Two Triton kernels on two streams count into the same bins by tl.atomic_add.

No public report.
"""
import torch
import triton
import triton.language as tl


@triton.jit
def count_into(bins, keys, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    key = tl.load(keys + at, mask=at < count, other=0)
    tl.atomic_add(bins + key, 1, mask=at < count)


bins = torch.zeros(64, dtype=torch.int32, device="cuda")
keys = torch.randint(0, 64, (2, 3000), device="cuda")
streams = [torch.cuda.Stream(), torch.cuda.Stream()]
torch.cuda.synchronize()
for part, stream in zip(keys, streams):
    with torch.cuda.stream(stream):
        count_into[(3,)](bins, part, 3000, BLOCK=1024)
torch.cuda.synchronize()
print(bins.sum().item())
