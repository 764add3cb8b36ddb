"""Cross entropy of a batch in which every label is ignored."""

import os

import torch
import torch.nn.functional as F
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(30, 16)
        self.head = nn.Linear(16, 30)

    def forward(self, ids):
        return self.head(self.embed(ids))


def answer_only(ids, prompt):
    labels = ids.clone()
    labels[:, :prompt] = -100
    return labels


torch.manual_seed(0)
model = Language().to(DEVICE)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
ids = torch.randint(0, 30, (2, 6)).to(DEVICE)
for prompt in (3, 6):
    labels = answer_only(ids, prompt)
    logits = model(ids)[:, :-1].reshape(-1, 30)
    loss = F.cross_entropy(logits, labels[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
