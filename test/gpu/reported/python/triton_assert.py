"""A kernel asserts that every page number is in its pool."""
import torch
import triton
import triton.language as tl

from here import or_skip


@triton.jit(debug=True)
def copy_pages(pool, pages, out, page_count, WIDTH: tl.constexpr):
    page = tl.load(pages + tl.program_id(0))
    tl.device_assert(page < page_count, "page is outside of the pool")
    at = tl.arange(0, WIDTH)
    tl.store(out + tl.program_id(0) * WIDTH + at, tl.load(pool + page * WIDTH + at, mask=page < page_count))


def copy():
    copy_pages[(64,)](pool, pages, out, 512, WIDTH=1024)  # LAUNCH
    torch.cuda.synchronize()


pool, out = torch.zeros(512, 1024, device="cuda"), torch.zeros(64, 1024, device="cuda")
pages = torch.arange(64, device="cuda")
or_skip(copy)
pages[20] = 512
copy()  # LAUNCH
