"""A step is captured in four pieces that share a pool; each piece's input dies once the next piece is captured.

Pattern: https://github.com/pytorch/torchtitan/pull/3534
"""
import torch

pieces = [torch.nn.Linear(1024, 1024, bias=False, device="cuda") for _ in range(4)]
static = torch.ones(64, 1024, device="cuda")
pool = torch.cuda.graph_pool_handle()
graphs = []
with torch.no_grad():
    for number, piece in enumerate(pieces, 1):
        piece.weight.copy_(torch.eye(1024, device="cuda") * number)
        piece(static)
    torch.cuda.synchronize()
    hidden = static
    for piece in pieces:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            hidden = piece(hidden)
        graphs.append(graph)
    for step in range(10):
        static.fill_(step)
        for graph in graphs:
            graph.replay()
            eager = torch.full((64, 1024), 9.0, device="cuda") + 1
        assert abs(hidden[3, 3].item() - 24 * step) < 0.5
print(eager[0, 0].item())
