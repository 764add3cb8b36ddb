"""Sampling with temperature zero: the logits are infinite and the probabilities NaN."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


class Sampler:
    def __init__(self, temperature):
        self.temperature = temperature

    def __call__(self, logits):
        scaled = logits[:, -1] / self.temperature
        probs = torch.softmax(scaled, dim=-1)
        return torch.multinomial(probs, num_samples=1)


hidden = torch.tensor([[[0.0, 0.0, 0.0], [2.0, -1.0, 0.5]]], device=DEVICE)
head = nn.Identity()
for temperature in (1.0, 0.5, 0.0):
    token = Sampler(temperature)(head(hidden))
    print(temperature, token.shape)
