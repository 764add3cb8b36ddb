"""A label that is not a class."""
import torch
import torch.nn.functional as F

logits = torch.randn(64, 10, device="cuda", requires_grad=True)
labels = torch.arange(64, device="cuda") % 11
loss = F.cross_entropy(logits, labels)  # TRUE LINE
total = loss + 1
print("loss", total.item())  # BLAMED
