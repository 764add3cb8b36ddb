"""A full mask for a long sequence is made as a matrix, which needs more memory than the device has."""
import torch


def causal_mask(length):
    return torch.zeros(length, length, device="cuda")  # LAUNCH


causal_mask(8192)
causal_mask(400_000)  # LAUNCH
