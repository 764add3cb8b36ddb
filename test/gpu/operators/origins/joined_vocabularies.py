"""Two vocabularies in one embedding table, the second one shifted too far."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
TEXT, SPEECH = 320, 500
SEPARATOR = 1


def join(text, speech):
    shifted = speech + (TEXT + SEPARATOR)
    return torch.cat([text, shifted], dim=1)


class JointModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(TEXT + SPEECH, 32)
        self.encoder = nn.TransformerEncoderLayer(32, nhead=4, batch_first=True)

    def forward(self, tokens):
        return self.encoder(self.embed(tokens))


model = JointModel().to(DEVICE)
text = torch.tensor([[5, 8, 11], [6, 2, 319]], device=DEVICE)
speech = torch.tensor([[17, 401, 3], [40, 71, 499]], device=DEVICE)
print(model(join(text, speech)).mean().item())
