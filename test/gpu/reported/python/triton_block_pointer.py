"""A block pointer with the shape of a larger matrix, loaded without a check of the boundary."""
import torch
import triton
import triton.language as tl

from here import or_skip


@triton.jit
def column_sums(matrix, sums, rows, columns, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    block = tl.make_block_ptr(matrix, (rows, columns), (columns, 1), (0, first), (BLOCK, BLOCK), (1, 0))
    total = tl.zeros((BLOCK,), tl.float32)
    for _ in range(0, rows, BLOCK):
        total += tl.sum(tl.load(block), 0)  # ACCESS
        block = tl.advance(block, (BLOCK, 0))
    tl.store(sums + first + tl.arange(0, BLOCK), total)


matrix = torch.ones(4096, 4096, device="cuda")  # ALLOC
sums = torch.zeros(4096, device="cuda")
or_skip(lambda: (column_sums[(64,)](matrix, sums, 4096, 4096, BLOCK=64), torch.cuda.synchronize()))
column_sums[(64,)](matrix, sums, 1 << 20, 4096, BLOCK=64)  # LAUNCH
torch.cuda.synchronize()
