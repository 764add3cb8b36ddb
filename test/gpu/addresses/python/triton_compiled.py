"""A Triton kernel in a compiled function; an expert number is uninitialised."""
import torch
import triton
import triton.language as tl

from here import or_skip


@triton.jit
def route(experts, load_of, SIZE: tl.constexpr):
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    expert = tl.load(experts + at)
    tl.atomic_add(load_of + expert, 1)  # ACCESS


@torch.compile
def step(experts, load_of):
    route[(experts.numel() // 256,)](experts, load_of, SIZE=256)  # LAUNCH
    return load_of * 2


experts = torch.zeros(4096, dtype=torch.int64, device="cuda")
load_of = torch.zeros(8 << 20, dtype=torch.int32, device="cuda")
or_skip(lambda: (step(experts, load_of), torch.cuda.synchronize()))
experts[1234] = 1 << 30
step(experts, load_of)  # LAUNCH
torch.cuda.synchronize()
