"""std_mean of one sample: its deviation is NaN, but only the mean is used."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(1, 1).to(DEVICE)
for values in ([1.0, 2.0, 3.0], [4.0]):
    sample = torch.tensor(values, device=DEVICE)
    spread, mean = torch.std_mean(sample)
    centred = sample - mean
    output = model(centred.unsqueeze(1))
print(output.isfinite().all().item())
