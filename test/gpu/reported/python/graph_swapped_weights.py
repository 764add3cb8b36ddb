"""A layer's weights are replaced after the capture; the captured product still reads the old ones."""
import torch

from here import or_skip

layer = torch.nn.Linear(8192, 8192, bias=False, device="cuda")  # ALLOC
x = torch.ones(256, 8192, device="cuda")
with torch.no_grad():
    or_skip(lambda: (layer(x), torch.cuda.synchronize()))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = layer(x)  # LAUNCH
    graph.replay()
    torch.cuda.synchronize()
    quantised = layer.weight.half().float()
    layer.weight = torch.nn.Parameter(quantised)  # FREED
    torch.cuda.empty_cache()  # FREED
    graph.replay()  # LAUNCH
    torch.cuda.synchronize()
