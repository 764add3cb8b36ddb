"""The ends of groups for a grouped product must not decrease; here the third group ends before it begins."""
import torch

from here import or_skip


def multiply(x, weights, ends):
    ends = torch.tensor(ends, device="cuda", dtype=torch.int32)
    result = torch._grouped_mm(x, weights, offs=ends)  # LAUNCH
    torch.cuda.synchronize()
    return result


x = torch.randn(128, 64, device="cuda", dtype=torch.bfloat16)
weights = torch.randn(4, 64, 64, device="cuda", dtype=torch.bfloat16)
or_skip(lambda: multiply(x, weights, [32, 64, 96, 128]))
multiply(x, weights, [32, 96, 64, 128])
