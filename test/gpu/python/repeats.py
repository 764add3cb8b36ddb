"""Lengths of a ragged batch that do not add up to what was said of them."""
import torch

lengths = torch.tensor([3, 1, 4], device="cuda")
rows = torch.arange(3, device="cuda")
owner = torch.repeat_interleave(rows, lengths, output_size=9)  # TRUE LINE
print(owner.tolist())  # BLAMED
