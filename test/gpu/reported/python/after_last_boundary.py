"""Tokens are searched in the boundaries of their sequences. Tokens of the padding are behind the last boundary."""
import torch

from here import or_skip


def scales_of_tokens(tokens):
    positions = torch.arange(tokens, device="cuda")
    sequences = torch.searchsorted(boundaries, positions, right=True)
    result = scales[sequences]  # LAUNCH
    torch.cuda.synchronize()
    return result


lengths = torch.tensor([100, 28, 300, 72], device="cuda")
boundaries = lengths.cumsum(0)
scales = torch.rand(len(lengths), 64, device="cuda")
or_skip(lambda: scales_of_tokens(500))
scales_of_tokens(512)
