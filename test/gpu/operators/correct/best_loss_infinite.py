"""Early stopping: the best loss starts at infinity."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
model = nn.Linear(3, 1).to(DEVICE)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
best, state = torch.tensor(float("inf"), device=DEVICE), None
for epoch in range(4):
    loss = model(torch.ones(2, 3, device=DEVICE)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if loss.detach() < best:
        best = loss.detach().clone()
        state = {name: each.clone() for name, each in model.state_dict().items()}
print(best.item(), sorted(state))
