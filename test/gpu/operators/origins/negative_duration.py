"""Speech synthesis: a predicted duration rounds to minus one."""

import os

import torch

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


def to_frames(log_durations):
    return torch.round(torch.exp(log_durations) - 1).long()


def regulate(hidden, durations):
    return torch.repeat_interleave(hidden, durations, dim=0)


hidden = torch.ones(4, 8, device=DEVICE)
log_durations = torch.tensor([1.1, 0.7, -3.0, 1.4], device=DEVICE)
frames = regulate(hidden, to_frames(log_durations))
print(frames.shape)
