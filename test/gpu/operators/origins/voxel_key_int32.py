"""Voxel grids: the flat key of a cell does not fit in 32 bits."""

import os

import torch

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
GRID, BLOCK = 2048, 2**20


def flat_keys(points, size):
    cells = torch.floor(points / size).to(torch.int32)
    x, y, z = cells.unbind(dim=1)
    return (x * GRID + y) * GRID + z


points = torch.tensor([[1.0, 2.0, 3.0], [40.5, 7.0, 11.0], [300.0, 0.0, 0.0]], device=DEVICE)
keys = flat_keys(points, 0.5)
blocks = torch.div(keys, BLOCK, rounding_mode="floor")
counts = torch.zeros(GRID**3 // BLOCK, device=DEVICE)
counts.index_add_(0, blocks, torch.ones(len(points), device=DEVICE))
print(counts.sum().item())
