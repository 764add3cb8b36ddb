"""PyTorch Geometric: an edge to a node that does not exist. geometric.py LAYER. The indexing code of "sage" and of the
script's "own" layer is in a generated file, whose name differs in each run. The code of "gcn" is not."""
import sys

import torch
from torch_geometric.nn import GCNConv, MessagePassing, SAGEConv


class Roads(MessagePassing):
    def __init__(self, inward, outward):
        super().__init__(aggr="mean")
        self.linear = torch.nn.Linear(inward, outward)

    def forward(self, x, edges):
        return self.propagate(edges, x=self.linear(x))  # TRUE LINE own

    def message(self, x_j):
        return x_j.relu()


LAYERS = {"gcn": GCNConv, "sage": SAGEConv, "own": Roads}


class Graph(torch.nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.first = layer(16, 32)
        self.second = layer(32, 4)

    def forward(self, x, edges):
        return self.second(self.first(x, edges).relu(), edges)  # TRUE LINE gcn, TRUE LINE sage


torch.manual_seed(1)
model = Graph(LAYERS[sys.argv[1]]).cuda()
x = torch.randn(50, 16, device="cuda")
edges = torch.randint(0, 50, (2, 400), device="cuda")
print(round(model(x, edges).sum().item(), 3))
edges[0, 200] = 5000
print(model(x, edges).sum().item())  # BLAMED
