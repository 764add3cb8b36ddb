"""A data loader with workers, a collate function and ids in range."""

import os

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


class Corpus(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        return torch.arange(1, 2 + index % 5), index % 3


def collate(samples):
    ids, labels = zip(*samples)
    return pad_sequence(ids, batch_first=True), torch.tensor(labels)


def main():
    torch.manual_seed(0)
    model = nn.EmbeddingBag(10, 3, padding_idx=0).to(DEVICE)
    for ids, labels in DataLoader(Corpus(), batch_size=4, num_workers=2, collate_fn=collate):
        loss = nn.functional.cross_entropy(model(ids.to(DEVICE)), labels.to(DEVICE))
        loss.backward()
    print(loss.item())


if __name__ == "__main__":
    main()
