"""A reduction over segments without checks: the length of one segment is far too large."""
import torch

from here import or_skip


def reduce():
    result = torch.segment_reduce(data, "sum", lengths=lengths, unsafe=True)  # LAUNCH
    torch.cuda.synchronize()
    return result


data = torch.ones(16 << 20, device="cuda")  # ALLOC
lengths = torch.full((1024,), 16, dtype=torch.int64, device="cuda")
or_skip(reduce)
lengths[500] = 1 << 34
reduce()  # LAUNCH
