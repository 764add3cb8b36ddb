"""Distillation: the student masks classes for which the teacher's probability is zero, and the divergence is NaN."""

import os

import torch
import torch.nn.functional as F
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
student = nn.Linear(4, 3).to(DEVICE)
x = torch.randn(2, 4).to(DEVICE)
allowed = torch.tensor([[True, True, False], [True, True, True]], device=DEVICE)
teacher = torch.tensor([[0.7, 0.3, 0.0], [0.2, 0.2, 0.6]], device=DEVICE)
logits = student(x).masked_fill(~allowed, float("-inf"))
log_probs = F.log_softmax(logits, dim=1)
loss = F.kl_div(log_probs, teacher, reduction="batchmean")
loss.backward()
print(loss.item())
