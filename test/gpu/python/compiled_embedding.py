"""A compiled model with an embedding; the third batch has a token id outside the vocabulary."""
import sys

import torch


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(1000, 64)
        self.norm = torch.nn.LayerNorm(64)

    def forward(self, ids):  # TRUE LINE
        x = self.words(ids)  # TRUE LINE, EAGER
        return torch.tanh(self.norm(x))  # TRUE LINE


model = torch.compile(Encoder().cuda())
ids = torch.randint(0, 1000, (4, 64), device="cuda")
try:
    with torch.no_grad():
        model(ids).sum().item()
except Exception as e:
    print("torch.compile does not work here:", e, file=sys.stderr)
    sys.exit(77)
with torch.no_grad():
    for last in (5, 999, 1000):
        ids[3, 63] = last
        y = model(ids)  # TRUE LINE
        total = y.sum()
print(total.item())  # BLAMED
