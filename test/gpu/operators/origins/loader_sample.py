"""One annotation of a data set has a category that the model does not know."""

import os

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
CATEGORIES = [1, 3, 0, 7, 5, 5, 2, 6, 4, 90, 0, 1, 3, 2, 7, 6]


class Annotations(Dataset):
    def __len__(self):
        return len(CATEGORIES)

    def __getitem__(self, index):
        image = torch.full((3, 8, 8), index / 16)
        return image, torch.tensor(CATEGORIES[index])


def main():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 8)).to(DEVICE)
    criterion = nn.CrossEntropyLoss()
    loader = DataLoader(Annotations(), batch_size=4, num_workers=2)
    for images, labels in loader:
        images = images.to(DEVICE)
        labels = labels.to(DEVICE)
        loss = criterion(model(images), labels)
        loss.backward()
        print(loss.item())


if __name__ == "__main__":
    main()
