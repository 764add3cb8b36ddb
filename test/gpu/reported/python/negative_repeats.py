"""A difference of lengths is negative, but the sum of the repeats is still the size of the output."""
import torch

from here import or_skip


def repeat(values, lengths, shortened, output_size):
    repeats = lengths - shortened
    result = torch.repeat_interleave(values, repeats, output_size=output_size)  # LAUNCH
    torch.cuda.synchronize()
    return result


values = torch.arange(3, device="cuda")
lengths = torch.tensor([4, 5, 1], device="cuda")
or_skip(lambda: repeat(values, lengths, torch.tensor([2, 2, 0], device="cuda"), 6))
repeat(values, lengths, torch.tensor([1, 1, 2], device="cuda"), 6)
