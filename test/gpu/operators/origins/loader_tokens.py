"""A corrupt record in a tokenised corpus, read by a worker and collated with padding."""

import os

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
RECORDS = [[5, 9, 2], [7, 7], [31, 4, 8, 4096, 6], [12, 3, 3, 40], [99, 1], [2]]


class Corpus(Dataset):
    def __len__(self):
        return len(RECORDS)

    def __getitem__(self, index):
        return torch.from_numpy(np.array(RECORDS[index]))


def collate(samples):
    return nn.utils.rnn.pad_sequence(samples, batch_first=True)


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(100, 16, padding_idx=0)
        self.rnn = nn.GRU(16, 16, batch_first=True)

    def forward(self, input):
        return self.rnn(self.embed(input))[0]


def main():
    model = Language().to(DEVICE)
    for batch in DataLoader(Corpus(), batch_size=2, num_workers=1, collate_fn=collate):
        tokens = batch.to(DEVICE)
        print(model(tokens).mean().item())


if __name__ == "__main__":
    main()
