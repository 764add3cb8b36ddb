"""A table of layers holds tables of pages, two loads deep; one page was evicted and freed."""
import torch
import triton
import triton.language as tl

from here import or_skip


@triton.jit
def read_page(layers, layer, page, out, SIZE: tl.constexpr):
    pages = tl.load(layers + layer).to(tl.pointer_type(tl.int64))
    values = tl.load(pages + page).to(tl.pointer_type(tl.float32))
    at = tl.arange(0, SIZE)
    tl.store(out + at, tl.load(values + at))  # ACCESS


cached = [[torch.zeros(8 << 20, device="cuda") for _ in range(4)] for _ in range(3)]  # ALLOC
tables = [torch.tensor([page.data_ptr() for page in pages], device="cuda") for pages in cached]
layers = torch.tensor([table.data_ptr() for table in tables], device="cuda")
out = torch.zeros(256, device="cuda")
or_skip(lambda: (read_page[(1,)](layers, 1, 2, out, SIZE=256), torch.cuda.synchronize()))
cached[1][2] = None  # FREED
torch.cuda.empty_cache()  # FREED
read_page[(1,)](layers, 1, 2, out, SIZE=256)  # LAUNCH
torch.cuda.synchronize()
