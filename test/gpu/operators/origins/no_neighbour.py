"""Point clouds: the number of points stands for "too far away", and a centre has no neighbour."""

import os

import torch

DEVICE = os.environ.get("DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


def ball_query(points, centres, radius, count):
    total = points.shape[0]
    index = torch.arange(total, device=points.device).repeat(centres.shape[0], 1)
    index[torch.cdist(centres, points) > radius] = total
    index = index.sort(dim=1).values[:, :count]
    first = index[:, :1].expand(-1, count)
    return torch.where(index == total, first, index)


def group(points, index):
    return points[index]


points = torch.tensor([[0.0, 0.0], [0.1, 0.0], [1.0, 1.0], [1.0, 1.2]], device=DEVICE)
centres = torch.tensor([[0.0, 0.1], [9.0, 9.0]], device=DEVICE)
index = ball_query(points, centres, radius=0.5, count=2)
print(group(points, index).shape)
