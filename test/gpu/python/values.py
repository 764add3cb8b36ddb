"""Values that violate an operator's rule: values.py CASE"""
import sys

import torch
import torch.nn.functional as F


def embedding(device):
    table = torch.nn.Embedding(30000, 16, device=device)
    idx = torch.randint(0, 30000, (8, 512), device=device)
    idx[0, 77] = 30050
    idx[3, 1] = -1
    return table(idx)  # TRUE LINE embedding


def gather(device):
    x = torch.zeros(64, 10, device=device)
    columns = torch.arange(64, device=device).view(64, 1) % 11
    return torch.gather(x, 1, columns)  # TRUE LINE gather


def scatter(device):
    x = torch.zeros(64, 10, device=device)
    columns = torch.full((64, 2), 9, device=device)
    columns[5, 1] = 10
    return x.scatter_(1, columns, 1.0)  # TRUE LINE scatter


def label(device):
    scores = torch.randn(4, 6, 10, device=device, requires_grad=True)
    labels = torch.arange(24, device=device).view(4, 6) % 10
    labels[2, 3] = 10
    return F.cross_entropy(scores.view(-1, 10), labels.view(-1))  # TRUE LINE label


def one_hot(device):
    classes = torch.tensor([0, 1, 4], device=device)
    return F.one_hot(classes, num_classes=4).float()  # TRUE LINE one_hot


def multinomial(device):
    p = torch.ones(4, 8, device=device)
    p[1, 2] = float("nan")
    return torch.multinomial(p, 2, replacement=True).float()  # TRUE LINE multinomial


def bce(device):
    p = torch.rand(100, device=device)
    p[42] = 1.5
    return F.binary_cross_entropy(p, torch.ones(100, device=device))  # TRUE LINE bce


def view(device):
    base = torch.zeros(10, 10, device=device)
    window = base[:, 2:6].t()
    rows = torch.tensor([0, 3, 4], device=device)
    window[rows] = 1.0  # TRUE LINE view
    return base


def positions(device):
    batch = {"ids": torch.zeros(2, 40, dtype=torch.long, device=device)}
    wpe = torch.nn.Embedding(32, 16, device=device)
    position = torch.arange(batch["ids"].shape[1], device=device)
    return wpe(position)  # TRUE LINE positions


def late(device):
    table = torch.nn.Embedding(100, 16, device=device)
    total = 0
    for step in range(200):
        idx = torch.full((4, 4), step % 100, device=device)
        if step == 150:
            idx[1, 2] = 100
        y = table(idx)  # TRUE LINE late
        total = total + y.sum()
    return total


result = globals()[sys.argv[1]]("cuda")
loss = result.sum() * 2
print("loss", loss.item())  # BLAMED
