"""Segmentation: pixels without a class have the label 255, but the loss does not ignore it."""
import torch
import torch.nn.functional as F

scores = torch.randn(2, 19, 128, 128, device="cuda")
labels = torch.zeros(2, 128, 128, dtype=torch.int64, device="cuda")
F.cross_entropy(scores, labels)
labels[1, 50:60, 70:80] = 255
F.cross_entropy(scores, labels)  # LAUNCH
torch.cuda.synchronize()
