"""A captured step uses two side streams, and tensors of one side stream are read in the other.

Pattern: https://github.com/pytorch/pytorch/pull/162186
"""
import torch

x = torch.zeros(2 << 20, device="cuda")
left, right = torch.cuda.Stream(), torch.cuda.Stream()
(x * 2 + x).relu()
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    main = torch.cuda.current_stream()
    left.wait_stream(main)
    with torch.cuda.stream(left):
        query = x * 2
    right.wait_stream(left)
    with torch.cuda.stream(right):
        key = query + 1
    main.wait_stream(right)
    out = (key * x).relu()
    del query, key
for step in range(8):
    x.copy_(torch.full((2 << 20,), float(step), device="cuda"))
    graph.replay()
    with torch.cuda.stream(left):
        aside = torch.zeros(2 << 20, device="cuda")
    assert out[9].item() == (2 * step + 1) * step
print(aside.numel())
