"""Labels with -100 for padding are shifted and used as inputs of the decoder."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
PAD, START = 0, 1


def shift_right(labels):
    shifted = labels.new_full(labels.shape, START)
    shifted[:, 1:] = labels[:, :-1]
    return shifted


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 32, padding_idx=PAD)
        self.layer = nn.Linear(32, 50)

    def forward(self, decoder_ids):
        hidden = self.embed(decoder_ids)
        return self.layer(hidden)


decoder = Decoder().to(DEVICE)
target = torch.tensor([[4, 9, 17, 30], [8, 22, PAD, PAD]], device=DEVICE)
labels = target.masked_fill(target == PAD, -100)
logits = decoder(shift_right(labels))
print(nn.functional.cross_entropy(logits.view(-1, 50), labels.view(-1)).item())
