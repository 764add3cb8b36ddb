"""Infinity is the start of a running minimum."""

import os

import torch

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
nearest = torch.full((5,), float("inf"), device=DEVICE)
points = torch.tensor([[0.0], [1.0], [4.0], [9.0], [10.0]], device=DEVICE)
chosen = [0]
for _ in range(2):
    distance = (points - points[chosen[-1]]).pow(2).sum(dim=1)
    nearest = torch.minimum(nearest, distance)
    chosen.append(int(nearest.argmax()))
print(chosen, nearest.tolist())
