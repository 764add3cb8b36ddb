"""The last program is larger than what is left, and rows of -1 are skipped; masks cover both. The program succeeds."""
import torch
import triton
import triton.language as tl

from here import or_skip


@triton.jit
def gather(table, rows, out, n, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = tl.load(rows + at, mask=at < n, other=-1)
    column = tl.arange(0, WIDTH)
    used = (row >= 0)[:, None]
    values = tl.load(table + row[:, None] * WIDTH + column[None, :], mask=used, other=0)
    tl.store(out + at[:, None] * WIDTH + column[None, :], values, mask=(at < n)[:, None])


def run():
    gather[(triton.cdiv(n, 64),)](table, rows, out, n, WIDTH=128, BLOCK=64)
    torch.cuda.synchronize()


n = 100_003
table, out = torch.ones(1 << 17, 128, device="cuda"), torch.empty(n, 128, device="cuda")
rows = torch.arange(n, device="cuda")
rows[::5] = -1
or_skip(run)
run()
assert out.sum().item() == 128 * (rows >= 0).sum().item()
