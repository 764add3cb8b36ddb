"""A captured kernel writes to a workspace that grows afterwards, which frees the old memory."""
import torch
import triton
import triton.language as tl

from here import or_skip


@triton.jit
def partial_sums(x, workspace, SIZE: tl.constexpr):
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    tl.store(workspace + at, tl.load(x + at) * 2)  # ACCESS


workspaces = {}


def workspace(name, numel):
    if name not in workspaces:
        workspaces[name] = torch.empty(numel, device="cuda")  # ALLOC
    elif workspaces[name].numel() < numel:
        workspaces[name].resize_(numel)  # FREED
    return workspaces[name]


x = torch.ones(1 << 16, device="cuda")
or_skip(lambda: (partial_sums[(64,)](x, workspace("gemm", 32 << 20), SIZE=1024), torch.cuda.synchronize()))
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    partial_sums[(64,)](x, workspace("gemm", 32 << 20), SIZE=1024)  # LAUNCH
graph.replay()
torch.cuda.synchronize()
partial_sums[(64,)](x, workspace("gemm", 128 << 20), SIZE=1024)
torch.cuda.synchronize()
torch.cuda.empty_cache()  # FREED
graph.replay()  # LAUNCH
torch.cuda.synchronize()
