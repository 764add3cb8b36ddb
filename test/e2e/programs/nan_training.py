"""Trains for a few steps on the CPU: nan_training.py CASE. CASE selects how NaN arises and how the program reacts."""

import sys

import torch

case = sys.argv[1]


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4))

    def forward(self, counts):
        if case == "root":
            return torch.sqrt(self.weight * (counts - counts)) * counts  # ROOT
        return self.weight * (counts / counts)  # DIVIDE


model = Model()
optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    counts = torch.tensor([1.0, 2.0, 0.0 if step == 1 else 3.0, 4.0])
    loss = model(counts).sum()
    if case == "guarded" and not torch.isfinite(loss):
        continue
    if case == "exits" and torch.isnan(loss):
        sys.exit(1)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
print("trained", case, model.weight.detach().isnan().any().item())
sys.exit(3 if case == "divide" else 0)
