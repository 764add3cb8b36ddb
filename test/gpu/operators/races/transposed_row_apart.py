"""A row of a transposed matrix is zeroed while another row of the transposed matrix is summed."""

import torch

from streams import DEVICE, Stream, stream, synchronize

matrix = torch.ones(16, 16, device=DEVICE)
side = Stream()
synchronize()

with stream(side):
    matrix.t()[1].zero_()
total = matrix.t()[2].sum()
synchronize()
print(total.item())
