"""A server goes to sleep and gives its weights back; a graph is replayed before they are there again."""
import torch

from here import or_skip


def capture():
    torch.mul(x, weight, out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        torch.mul(x, weight, out=out)  # LAUNCH
    graph.replay()
    torch.cuda.synchronize()
    return graph


def sleep():
    weight.untyped_storage().resize_(0)  # FREED
    torch.cuda.empty_cache()  # FREED


weight = torch.ones(4096, 4096, device="cuda")  # ALLOC
x, out = torch.ones(4096, 4096, device="cuda"), torch.empty(4096, 4096, device="cuda")
graph = or_skip(capture)
sleep()
graph.replay()  # LAUNCH
torch.cuda.synchronize()
