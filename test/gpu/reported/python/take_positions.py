"""Positions in a flattened batch of images are taken from the images of a smaller batch."""
import torch

from here import or_skip


def take(images, positions):
    values = torch.take(images, positions)  # LAUNCH
    torch.cuda.synchronize()
    return values


large, small = torch.rand(16, 256, 256, device="cuda"), torch.rand(4, 256, 256, device="cuda")
brightest = large.flatten().topk(1000).indices
or_skip(lambda: take(large, brightest))
take(small, torch.cat([brightest, torch.tensor([large.numel() - 1], device="cuda")]))
