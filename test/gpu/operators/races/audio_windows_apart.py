"""unfold makes windows of a waveform: one is scaled while another, which shares no samples with it, is summed."""

import torch

from streams import DEVICE, Stream, stream, synchronize

wave = torch.ones(4096, device=DEVICE)
windows = wave.unfold(0, 400, 160)
taper = torch.hann_window(400, device=DEVICE)
side = Stream()
synchronize()

with stream(side):
    windows[2].mul_(taper)
loudness = windows[5].sum()
synchronize()
print(loudness.item())
