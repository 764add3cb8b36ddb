"""Strided slices of a signal: even samples are changed while the odd ones are summed."""

import torch

from streams import DEVICE, Stream, stream, synchronize

signal = torch.ones(256, device=DEVICE)
side = Stream()
synchronize()

with stream(side):
    signal[0::2].neg_()
energy = signal[1::2].sum()
synchronize()
print(energy.item())
