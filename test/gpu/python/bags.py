"""Embedding bags: a word outside the table, or offsets that decrease: bags.py index|offsets"""
import sys

import torch


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.EmbeddingBag(1000, 16, mode="sum")
        self.head = torch.nn.Linear(16, 4)

    def forward(self, text, offsets):
        bags = self.words(text, offsets)  # TRUE LINE
        return self.head(bags)


text = torch.arange(12, device="cuda")
offsets = torch.tensor([0, 4, 8], device="cuda")
if sys.argv[1] == "index":
    text[5] = 123456
else:
    offsets[1] = 10
scores = Classifier().cuda()(text, offsets)
best = scores.argmax(1)
print(best.tolist())  # BLAMED
