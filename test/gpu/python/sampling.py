"""Invalid distributions: sampling.py overflow|masked|bernoulli|poisson"""
import sys

import torch

hidden = torch.full((2, 64), 300.0, device="cuda", dtype=torch.float16)
head = torch.full((64, 10), 300.0, device="cuda", dtype=torch.float16)


def overflow():
    logits = hidden @ head
    probabilities = torch.softmax(logits.float(), -1)
    return torch.multinomial(probabilities, num_samples=1)  # TRUE LINE overflow


def masked():
    probabilities = torch.rand(3, 10, device="cuda")
    probabilities[1] *= torch.zeros(10, device="cuda")
    return probabilities.multinomial(1)  # TRUE LINE masked


def bernoulli():
    scores = torch.linspace(-1, 1, 50, device="cuda") * 3
    return torch.bernoulli(scores)  # TRUE LINE bernoulli


def poisson():
    rates = torch.linspace(-2, 8, 50, device="cuda")
    return torch.poisson(rates)  # TRUE LINE poisson


drawn = globals()[sys.argv[1]]()
print(drawn.float().sum().item())  # BLAMED
