"""A kernel for contiguous rows gets a gate that was expanded from a single row."""
import torch
import triton
import triton.language as tl

from here import or_skip


@triton.jit
def row_sums(gate, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    values = tl.load(gate + row * width + column, mask=column < width, other=0)  # ACCESS
    tl.store(out + row, tl.sum(values, axis=0))


def run(gate):
    rows, width = gate.shape
    row_sums[(rows,)](gate, out, width, BLOCK=1024)  # LAUNCH
    torch.cuda.synchronize()


out = torch.zeros(4096, device="cuda")
gate = torch.ones(1, 1 << 20, device="cuda")  # ALLOC
or_skip(lambda: run(gate))
run(gate.expand(4096, -1))
