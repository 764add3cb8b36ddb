"""A token was added to the tokenizer, but the embedding was not resized."""

import os

import torch
from torch import nn

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
vocabulary = {word: number for number, word in enumerate("[pad] [bos] a photo of the dog".split())}


class Captioner(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.embed = nn.Embedding(size, 24, padding_idx=0)
        self.lstm = nn.LSTM(24, 24, batch_first=True)

    def forward(self, input_ids):
        states, _ = self.lstm(self.embed(input_ids))
        return states


def encode(text):
    return [vocabulary[word] for word in text.split()]


model = Captioner(len(vocabulary)).to(DEVICE)
vocabulary["<image>"] = len(vocabulary)
ids = encode("[bos] the <image> dog")
batch = torch.tensor([ids], device=DEVICE)
print(model(batch).shape)
