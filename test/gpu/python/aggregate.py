"""Sums into rows that do not exist: aggregate.py edges|votes|highest|accumulate|take"""
import sys

import torch

nodes = torch.zeros(50, 8, device="cuda")


def edges():
    target = torch.arange(200, device="cuda") % 51
    messages = torch.ones(200, 8, device="cuda")
    return nodes.index_add_(0, target, messages)  # TRUE LINE edges


def votes():
    scores = torch.eye(10, device="cuda")
    winners = scores.argmax(1, keepdim=True) + 1
    return torch.zeros(10, 10, device="cuda").scatter_add_(1, winners, torch.ones_like(scores))  # TRUE LINE votes


def highest():
    regions = torch.tensor([0, 49, 50], device="cuda")
    return nodes.index_reduce_(0, regions, torch.ones(3, 8, device="cuda"), "amax")  # TRUE LINE highest


def accumulate():
    cells = torch.randint(0, 50, (400,), device="cuda")
    cells[123] = 77
    weights = torch.ones(400, 8, device="cuda")
    return nodes.index_put_((cells,), weights, accumulate=True)  # TRUE LINE accumulate


def take():
    flat = torch.tensor([0, 399, 400], device="cuda")
    return torch.take(nodes, flat)  # TRUE LINE take


total = globals()[sys.argv[1]]()
print(total.mean().item())  # BLAMED
