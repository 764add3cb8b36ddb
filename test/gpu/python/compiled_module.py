"""torch.compile of a module in its default mode: the failing kernel is Inductor's, but the line is the user's."""
import sys

import torch


class Lookup(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Parameter(torch.randn(100, 8))

    def forward(self, idx):  # TRUE LINE
        rows = self.table[idx]  # TRUE LINE, EAGER
        return torch.relu(rows) + 1  # TRUE LINE


def predict(model, idx):
    return model(idx)  # TRUE LINE


model = torch.compile(Lookup().cuda())
idx = torch.arange(64, device="cuda")
try:
    with torch.no_grad():
        predict(model, idx).sum().item()
except Exception as e:
    print("torch.compile does not work here:", e, file=sys.stderr)
    sys.exit(77)
idx[7] = 10**7
with torch.no_grad():
    rows = predict(model, idx)
print(rows.sum().item())  # BLAMED
