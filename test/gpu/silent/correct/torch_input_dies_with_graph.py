"""A graph's input dies after the last replay, and another tensor gets its block; only a second graph is replayed.

Pattern: https://github.com/pytorch/pytorch/pull/174649
"""
import torch


def graph_of(x, out):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        torch.add(x, 1, out=out)
    return graph


out = torch.zeros(4 << 20, device="cuda")
x = torch.full((4 << 20,), 3.0, device="cuda")
address = x.data_ptr()
first = graph_of(x, out)
first.replay()
assert out[0].item() == 4
del x
y = torch.full((4 << 20,), 5.0, device="cuda")
print("one block:", y.data_ptr() == address)
second = graph_of(y, out)
for _ in range(3):
    second.replay()
    assert out[0].item() == 6
