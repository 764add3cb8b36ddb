"""Labels with -100, which cross entropy ignores."""

import os

import torch
import torch.nn.functional as F
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
head = nn.Linear(16, 30).to(DEVICE)
hidden = torch.randn(2, 5, 16).to(DEVICE)
labels = torch.tensor([[3, 7, -100, -100, 2], [-100, 9, 1, -100, -100]], device=DEVICE)
loss = F.cross_entropy(head(hidden).view(-1, 30), labels.view(-1), ignore_index=-100)
loss.backward()
predicted = head(hidden).argmax(dim=-1)
answered = labels != -100
accuracy = (predicted == labels)[answered].float().mean()
print(loss.item(), accuracy.item())
