"""Gradients of each sample with torch.func."""

import os

import torch
from torch import nn
from torch.func import grad, vmap, functional_call

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
model = nn.Linear(4, 3).to(DEVICE)
parameters = {name: each.detach() for name, each in model.named_parameters()}


def loss_of_one(parameters, x, y):
    logits = functional_call(model, parameters, (x.unsqueeze(0),))
    return nn.functional.cross_entropy(logits, y.unsqueeze(0))


x = torch.randn(6, 4).to(DEVICE)
y = torch.tensor([0, 1, 2, 0, 1, 2], device=DEVICE)
gradients = vmap(grad(loss_of_one), in_dims=(None, 0, 0))(parameters, x, y)
norms = gradients["weight"].flatten(1).norm(dim=1)
clipped = gradients["weight"] * (1.0 / norms).clamp(max=1.0).view(-1, 1, 1)
print(clipped.sum(dim=0).norm().item())
