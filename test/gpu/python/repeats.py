"""The lengths of a ragged batch do not add up to the given output size."""
import torch

lengths = torch.tensor([3, 1, 4], device="cuda")
rows = torch.arange(3, device="cuda")
owner = torch.repeat_interleave(rows, lengths, output_size=9)  # TRUE LINE
print(owner.tolist())  # BLAMED
