"""The numbers of all experts are mapped to those of this rank, and the others are masked. The program succeeds."""
import torch
import triton
import triton.language as tl

from here import or_skip


@triton.jit
def first_rows(weights, routes, local_of, out, stride, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    expert = tl.load(local_of + tl.load(routes + token))
    column = tl.arange(0, BLOCK)
    row = tl.load(weights + expert.to(tl.int64) * stride + column, mask=(column >= 0) & (expert >= 0), other=0)
    tl.store(out + token, tl.sum(row, axis=0))


def run():
    first_rows[(tokens,)](weights, routes, local_of, out, weights.stride(0), BLOCK=1024)
    torch.cuda.synchronize()


tokens, own_experts, all_experts = 4096, 8, 256
out = torch.zeros(tokens, device="cuda")
weights = torch.ones(own_experts, 2048, 2048, device="cuda")
routes = torch.arange(tokens, device="cuda", dtype=torch.int32) % all_experts
local_of = torch.full((all_experts,), -1, device="cuda", dtype=torch.int32)
local_of[64:64 + own_experts] = torch.arange(own_experts, device="cuda", dtype=torch.int32)
or_skip(run)
run()
assert out.sum().item() == 1024 * tokens / all_experts * own_experts
