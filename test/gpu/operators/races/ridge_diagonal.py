"""The diagonal of a matrix grows on a side stream while rows of the matrix are read."""

import torch

from streams import DEVICE, Stream, stream, synchronize

matrix = torch.ones(16, 16, device=DEVICE)
side = Stream()
synchronize()

with stream(side):
    matrix.diagonal().add_(1e-3)
total = matrix[3:5].sum()
synchronize()
print(total.item())
