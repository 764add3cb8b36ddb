"""Labels stored as int8 to save memory, with more than 128 classes."""

import os

import torch
import torch.nn.functional as F
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
CLASSES = 150


def compact(labels):
    return labels.to(torch.int8)


torch.manual_seed(0)
model = nn.Linear(8, CLASSES).to(DEVICE)
stored = compact(torch.tensor([3, 77, 120, 149], device=DEVICE))
features = torch.randn(4, 8).to(DEVICE)
log_probs = F.log_softmax(model(features), dim=1)
targets = stored.long()
loss = F.nll_loss(log_probs, targets)
loss.backward()
print(loss.item())
