"""A graph is reset and captured again for a longer input; both captures use the same pool.

No public report.
"""
import torch

pool = torch.cuda.graph_pool_handle()
anchor = torch.cuda.CUDAGraph()
one = torch.ones(256, device="cuda")
with torch.cuda.graph(anchor, pool=pool):  # keeps the pool in use
    one.mul_(1)
graph, static = None, None
for step in range(24):
    length = 100_000 * (1 + step // 6)
    if static is None or static.numel() != length:
        if graph is not None:
            graph.reset()
            del out
        static = torch.zeros(length, device="cuda")
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            out = (static * 2).add_(1)
    static.fill_(step)
    graph.replay()
    anchor.replay()
    assert out[length - 1].item() == 2 * step + 1
print(out.numel())
