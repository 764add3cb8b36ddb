"""A graph is replayed in a side stream; its input lives on, and temporaries of both streams are recycled.

Pattern: https://github.com/local-inference-lab/b12x/pull/65
"""
import torch

side = torch.cuda.Stream()
static = torch.zeros(4 << 20, device="cuda")
(static * 2).sum()
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    out = (static * 2).mean()
found = []
for step in range(8):
    fresh = torch.full((4 << 20,), float(step), device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        static.copy_(fresh)
        graph.replay()
        scratch = torch.full((4 << 20,), -1.0, device="cuda")
        found.append(out.clone())
    torch.cuda.current_stream().wait_stream(side)
    del fresh, scratch
assert [each.item() for each in found] == [2.0 * step for step in range(8)]
print(len(found))
