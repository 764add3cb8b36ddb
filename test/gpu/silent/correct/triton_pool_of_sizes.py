"""Triton kernels are captured for three sizes in one pool; their workspace is allocated during each capture.

Pattern: https://github.com/flashinfer-ai/flashinfer/issues/4549
"""
import torch
import triton
import triton.language as tl


@triton.jit
def partial_sums(x, workspace, SIZE: tl.constexpr):
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    tl.store(workspace + tl.program_id(0), tl.sum(tl.load(x + at)))


x = torch.ones(1 << 20, device="cuda")
partial_sums[(1,)](x, torch.empty(1, device="cuda"), SIZE=1024)
torch.empty(1024, device="cuda").sum()
torch.cuda.synchronize()
pool = torch.cuda.graph_pool_handle()
graphs = []
for blocks in (1024, 256, 64):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        workspace = torch.empty(blocks, device="cuda")
        partial_sums[(blocks,)](x, workspace, SIZE=1024)
        total = workspace.sum()
        del workspace
    graphs.append((blocks, graph, total))
for step in range(9):
    blocks, graph, total = graphs[step % 3]
    x.fill_(step)
    graph.replay()
    assert total.item() == blocks * 1024 * step
    between = torch.full((blocks,), 5.0, device="cuda")
print(between.numel())
