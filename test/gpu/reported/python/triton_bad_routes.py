"""A first kernel leaves the routes of dropped tokens at a huge number; a second kernel uses them all as rows."""
import torch
import triton
import triton.language as tl

from here import or_skip


@triton.jit
def make_routes(scores, routes, least, DROPPED: tl.constexpr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    score = tl.load(scores + at)
    tl.store(routes + at, tl.where(score >= least, at.to(tl.int64), DROPPED))


@triton.jit
def combine(experts, routes, out, WIDTH: tl.constexpr):
    row = tl.load(routes + tl.program_id(0))
    at = tl.arange(0, WIDTH)
    tl.store(out + tl.program_id(0) * WIDTH + at, tl.load(experts + row * WIDTH + at))  # ACCESS


def step(least):
    make_routes[(1,)](scores, routes, least, DROPPED=1 << 31, SIZE=256)
    combine[(256,)](experts, routes, out, WIDTH=512)  # LAUNCH
    torch.cuda.synchronize()


experts = torch.zeros(65536, 512, device="cuda")  # ALLOC
scores = torch.linspace(0, 1, 256, device="cuda")
routes, out = torch.zeros(256, dtype=torch.int64, device="cuda"), torch.zeros(256, 512, device="cuda")
or_skip(lambda: step(0.0))
step(0.25)
