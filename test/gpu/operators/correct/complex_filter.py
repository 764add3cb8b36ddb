"""A filter in the frequency domain with complex weights."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
wave = torch.sin(torch.arange(64.0) / 4).to(DEVICE)
weights = nn.Parameter(torch.ones(33, dtype=torch.complex64, device=DEVICE))
optimizer = torch.optim.Adam([weights], lr=0.01)
for step in range(3):
    spectrum = torch.fft.rfft(wave) * weights
    filtered = torch.fft.irfft(spectrum, n=64)
    decibels = 20 * torch.log10(spectrum.abs().clamp(min=1e-6))
    loss = (filtered - 0.5 * wave).pow(2).mean() + 1e-6 * decibels.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
