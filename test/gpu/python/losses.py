"""Targets that a loss does not accept: losses.py from_one|smoothed|void|margin|mask"""
import sys

import torch
import torch.nn.functional as F

model = torch.nn.Conv2d(3, 5, 1).cuda()
images = torch.randn(4, 3, 8, 8, device="cuda")


def from_one(scores):
    species = torch.tensor([1, 2, 3, 5], device="cuda")
    return F.nll_loss(scores.mean((2, 3)).log_softmax(1), species)  # TRUE LINE from_one


def smoothed(scores):
    species = torch.tensor([0, -1, 2, 3], device="cuda")
    return F.cross_entropy(scores.mean((2, 3)), species, label_smoothing=0.1)  # TRUE LINE smoothed


def void(scores):
    masks = torch.zeros(4, 8, 8, dtype=torch.long, device="cuda")
    masks[:, 0] = 255
    return torch.nn.CrossEntropyLoss()(scores, masks)  # TRUE LINE void


def margin(scores):
    winners = scores.mean((2, 3)).argmax(1) + 5
    return F.multi_margin_loss(scores.mean((2, 3)), winners)  # TRUE LINE margin


def mask(scores):
    truth = torch.full((4, 8, 8), 255.0, device="cuda")
    return F.binary_cross_entropy(torch.sigmoid(scores[:, 0]), truth)  # TRUE LINE mask


loss = globals()[sys.argv[1]](model(images))
loss.backward()
torch.cuda.synchronize()  # BLAMED
