"""Each rank has the weights of eight experts, but the routes still have the numbers of all 256 experts."""
import torch
import triton
import triton.language as tl

from here import or_skip


@triton.jit
def first_rows(weights, routes, out, stride, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    expert = tl.load(routes + token)
    column = tl.arange(0, BLOCK)
    row = tl.load(weights + expert.to(tl.int64) * stride + column)  # ACCESS
    tl.store(out + token, tl.sum(row, axis=0))


def run(routes):
    first_rows[(routes.shape[0],)](weights, routes, out, weights.stride(0), BLOCK=1024)  # LAUNCH
    torch.cuda.synchronize()


tokens, own_experts, all_experts = 4096, 8, 256
out = torch.zeros(tokens, device="cuda")
weights = torch.ones(own_experts, 2048, 2048, device="cuda")  # ALLOC
routes = torch.arange(tokens, device="cuda", dtype=torch.int32)
or_skip(lambda: run(routes % own_experts))
run(routes % all_experts)
