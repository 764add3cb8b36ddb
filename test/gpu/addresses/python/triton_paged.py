"""A paged cache: the padding entry -1 of the page table is used as a page."""
import torch
import triton
import triton.language as tl

from here import or_skip


@triton.jit
def read_page(cache, page_table, out, page_stride, WIDTH: tl.constexpr):
    page = tl.load(page_table + tl.program_id(0))
    columns = tl.arange(0, WIDTH)
    tl.store(out + tl.program_id(0) * WIDTH + columns, tl.load(cache + page * page_stride + columns))  # ACCESS


cache = torch.zeros(4, 1 << 28, device="cuda")  # ALLOC
page_table = torch.tensor([0, 3, 2, 1], device="cuda")
out = torch.zeros(4, 256, device="cuda")
or_skip(lambda: (read_page[(4,)](cache, page_table, out, cache.stride(0), WIDTH=256), torch.cuda.synchronize()))
page_table[3] = -1
read_page[(4,)](cache, page_table, out, cache.stride(0), WIDTH=256)  # LAUNCH
torch.cuda.synchronize()
