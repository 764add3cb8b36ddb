"""PyTorch Geometric: an edge to a node that does not exist."""
import torch
from torch_geometric.nn import GCNConv


class Graph(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = GCNConv(16, 32)
        self.second = GCNConv(32, 4)

    def forward(self, x, edges):
        return self.second(self.first(x, edges).relu(), edges)  # TRUE LINE


torch.manual_seed(1)
model = Graph().cuda()
x = torch.randn(50, 16, device="cuda")
edges = torch.randint(0, 50, (2, 400), device="cuda")
print(round(model(x, edges).sum().item(), 3))
edges[0, 200] = 50
print(model(x, edges).sum().item())  # BLAMED
