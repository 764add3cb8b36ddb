"""A row of a transposed matrix is a column of the matrix: it is zeroed while a row that crosses it is summed."""

import torch

from streams import DEVICE, Stream, stream, synchronize

matrix = torch.ones(16, 16, device=DEVICE)
side = Stream()
synchronize()

with stream(side):
    matrix.t()[1].zero_()
total = matrix[2].sum()
synchronize()
print(total.item())
