"""Sequences padded with -1, given to an embedding whose padding index is 0."""

import os

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(40, 12, padding_idx=0)
        self.tags = nn.Linear(12, 5)

    def forward(self, tokens):
        return self.tags(self.embed(tokens))


sentences = [torch.tensor([7, 3, 12]), torch.tensor([31, 8])]
batch = pad_sequence(sentences, batch_first=True, padding_value=-1)
lengths = torch.tensor([len(sentence) for sentence in sentences])
batch = batch.to(DEVICE)
print(Tagger().to(DEVICE)(batch).shape, lengths)
