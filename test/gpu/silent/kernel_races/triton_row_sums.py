"""The programs of a row each add their part to its sum, by a load and a store.

Related: https://github.com/apache/tvm/pull/8479 (+= where an atomic addition is needed)
"""
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def add_parts(values, sums, columns, ATOMIC: tl.constexpr, PART: tl.constexpr):
    row = tl.program_id(0)
    at = tl.program_id(1) * PART + tl.arange(0, PART)
    part = tl.sum(tl.load(values + row * columns + at, mask=at < columns, other=0.0))
    if ATOMIC:
        tl.atomic_add(sums + row, part)
    else:
        before = tl.load(sums + row)  # FIRST
        tl.store(sums + row, before + part)  # SECOND


rows, columns = 32, 1000
values = torch.ones(rows, columns, device="cuda")
sums = torch.zeros(rows, device="cuda")
torch.cuda.synchronize()
add_parts[(rows, triton.cdiv(columns, 128))](values, sums, columns, ATOMIC=len(sys.argv) > 1, PART=128)  # LAUNCH
torch.cuda.synchronize()
corrected = bool((sums == columns).all().item())
print(corrected)
