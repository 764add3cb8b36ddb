"""A waveform quantised to 256 levels: the peak 1.0 becomes level 256."""

import os

import torch
import torch.nn.functional as F
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
LEVELS = 256


def quantise(wave):
    return (wave * LEVELS).long()


class WaveModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(LEVELS, 8, kernel_size=2)

    def forward(self, levels):
        channels = F.one_hot(levels, LEVELS).float()
        return self.conv(channels.transpose(1, 2))


wave = torch.tensor([[0.0, 0.25, 0.75, 1.0, 0.5]], device=DEVICE)
print(WaveModel().to(DEVICE)(quantise(wave)).shape)
