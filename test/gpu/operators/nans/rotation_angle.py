"""The angle between rotations: acos of a cosine that rounding made larger than 1."""

import os

import torch

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


def angle(a, b):
    relative = a @ b.transpose(1, 2)
    trace = relative.diagonal(dim1=1, dim2=2).sum(dim=1)
    cosine = (trace - 1) / 2
    return torch.acos(cosine)


target = torch.eye(3, device=DEVICE).repeat(2, 1, 1)
quarter = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
nearly_one = [[1.000001, 0.0, 0.0], [0.0, 1.000001, 0.0], [0.0, 0.0, 1.000001]]
predicted = torch.tensor([quarter, nearly_one], device=DEVICE, requires_grad=True)
error = angle(predicted, target).mean()
error.backward()
print(error.item())
