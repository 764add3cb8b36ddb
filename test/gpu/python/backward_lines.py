"""The forward pass works, the backward pass fails: backward_lines.py gather|retained|hook|checkpointed"""
import sys

import torch
from torch.utils.checkpoint import checkpoint

FAR = 10**7
case = sys.argv[1]
x = torch.randn(1000, 8, device="cuda", requires_grad=True)
idx = torch.randint(0, 1000, (64, 8), device="cuda")
scale = torch.ones(8, device="cuda", requires_grad=True)


def look_up(x):
    return torch.gather(x, 0, idx)  # TRUE LINE gather, TRUE LINE retained, TRUE LINE checkpointed, FORWARD gather


def pick(grad):
    return grad[idx[:, 0] + FAR]  # TRUE LINE hook


mask = idx > 3
if case == "checkpointed":
    y = checkpoint(look_up, x * 2, use_reentrant=False)
else:
    y = look_up(x * 2)
if case == "hook":
    y.register_hook(pick)
chosen = mask.sum()
loss = (y * scale).sum()
if case == "retained":
    loss.backward(retain_graph=True)
if case != "hook":
    idx.data.fill_(FAR)
loss.backward()  # BACKWARD gather, BACKWARD retained
print(x.grad.sum().item())  # BLAMED
