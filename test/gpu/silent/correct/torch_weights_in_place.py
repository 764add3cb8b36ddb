"""New weights are copied into the parameters that a graph reads; the loaded tensors die right after.

Pattern: https://github.com/sgl-project/sglang/pull/27140
"""
import torch

layer = torch.nn.Linear(2048, 2048, bias=False, device="cuda")
x = torch.ones(16, 2048, device="cuda")
with torch.no_grad():
    layer(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = layer(x)


def load(value):
    loaded = {"weight": torch.eye(2048, device="cuda") * value}
    if value % 2:
        layer.load_state_dict(loaded)
    else:
        layer.weight.data.copy_(loaded["weight"])


for value in range(1, 7):
    load(value)
    cache = torch.full((2048, 2048), -1.0, device="cuda")
    graph.replay()
    assert out[3, 3].item() == value
print(cache.shape)
