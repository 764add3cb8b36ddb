"""A confusion matrix from int8 masks: class times number of classes overflows."""

import os

import torch

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
CLASSES = 13


class Meter:
    def __init__(self):
        self.matrix = torch.zeros(CLASSES, CLASSES, dtype=torch.long, device=DEVICE)

    def update(self, target, prediction):
        valid = target >= 0
        pairs = target[valid] * CLASSES + prediction[valid]
        counts = torch.bincount(pairs, minlength=CLASSES**2)
        self.matrix += counts.view(CLASSES, CLASSES)


target = torch.tensor([0, 2, 7, 9, -1, 11], dtype=torch.int8, device=DEVICE)
prediction = torch.tensor([0, 2, 7, 8, 3, 0], dtype=torch.int8, device=DEVICE)
meter = Meter()
meter.update(target, prediction)
print(meter.matrix.diag())
