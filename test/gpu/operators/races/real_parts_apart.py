"""Complex numbers: real parts change while the main stream reads only the imaginary parts."""

import torch

from streams import DEVICE, Stream, stream, synchronize

spectrum = torch.full((64,), 3 + 4j, dtype=torch.complex64, device=DEVICE)
side = Stream()
synchronize()

with stream(side):
    spectrum.real.mul_(2.0)
size = spectrum.imag.abs()
synchronize()
print(size.sum().item())
